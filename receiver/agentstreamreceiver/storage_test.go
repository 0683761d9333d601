// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package agentstreamreceiver

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/open-telemetry/opentelemetry-collector-contrib/extension/storage/filestorage"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/extension/extensiontest"
	"go.opentelemetry.io/collector/extension/xextension/storage"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/otelcol-agents/otelcol-agents/internal/ledger"
)

var storageID = component.MustNewID("file_storage")

// extensionHost is a host with extensions.
type extensionHost struct {
	statusHost
	extensions map[component.ID]component.Component
}

func (h *extensionHost) GetExtensions() map[component.ID]component.Component { return h.extensions }

// fileStorage is the extension file_storage over a directory. maxSize bounds a database; 0: nothing does.
func fileStorage(t *testing.T, dir string, maxSize int64) storage.Extension {
	t.Helper()
	f := filestorage.NewFactory()
	cfg := f.CreateDefaultConfig().(*filestorage.Config)
	cfg.Directory, cfg.MaxSize = dir, maxSize
	ext, err := f.Create(t.Context(), extensiontest.NewNopSettings(f.Type()), cfg)
	require.NoError(t, err)
	require.NoError(t, ext.Start(t.Context(), componenttest.NewNopHost()))
	t.Cleanup(func() { assert.NoError(t, ext.Shutdown(context.Background())) })
	return ext.(storage.Extension)
}

// memoryStorage is a storage extension that cannot list its keys. fail decides what becomes of a batch.
type memoryStorage struct {
	component.StartFunc
	component.ShutdownFunc
	mu     sync.Mutex
	values map[string][]byte
	fail   func(ops []*storage.Operation) (done bool, err error)
	closed int
}

var (
	_ storage.Extension = (*memoryStorage)(nil)
	_ storage.Client    = (*memoryStorage)(nil)
)

func (m *memoryStorage) GetClient(context.Context, component.Kind, component.ID, string) (storage.Client, error) {
	return m, nil
}

func (m *memoryStorage) Close(context.Context) error {
	m.closed++
	return nil
}

func (m *memoryStorage) Get(ctx context.Context, key string) ([]byte, error) {
	op := storage.GetOperation(key)
	err := m.Batch(ctx, op)
	return op.Value, err
}

func (m *memoryStorage) Set(ctx context.Context, key string, value []byte) error {
	return m.Batch(ctx, storage.SetOperation(key, value))
}

func (m *memoryStorage) Delete(ctx context.Context, key string) error {
	return m.Batch(ctx, storage.DeleteOperation(key))
}

func (m *memoryStorage) Batch(_ context.Context, ops ...*storage.Operation) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var failure error
	if m.fail != nil {
		done, err := m.fail(ops)
		if !done {
			return err
		}
		failure = err
	}
	if m.values == nil {
		m.values = map[string][]byte{}
	}
	for _, op := range ops {
		switch op.Type {
		case storage.Get:
			op.Value = slices.Clone(m.values[op.Key])
		case storage.Set:
			m.values[op.Key] = append([]byte{}, op.Value...)
		case storage.Delete:
			delete(m.values, op.Key)
		}
	}
	return failure
}

// walkingStorage can list its keys, too.
type walkingStorage struct{ memoryStorage }

var _ storage.Walker = (*walkingStorage)(nil)

func (w *walkingStorage) Walk(ctx context.Context, visit storage.WalkFunc) error {
	var ops []*storage.Operation
	for key, value := range maps.Clone(w.values) {
		more, err := visit(key, value)
		if err != nil {
			return err
		}
		ops = append(ops, more...)
	}
	return w.Batch(ctx, ops...)
}

// walked is everything that a walk shows.
func walked(t *testing.T, s ledger.Store) map[string]string {
	t.Helper()
	found := map[string]string{}
	require.NoError(t, s.Walk(t.Context(), func(key string, value []byte) error {
		_, twice := found[key]
		assert.False(t, twice, key)
		found[key] = string(value)
		return nil
	}))
	return found
}

// storeKinds open the same storage again and again, as restarts do.
var storeKinds = map[string]func(t *testing.T) (open func() storage.Client){
	"file_storage": func(t *testing.T) func() storage.Client {
		ext, closeLast := fileStorage(t, t.TempDir(), 0), func(context.Context) error { return nil }
		t.Cleanup(func() { assert.NoError(t, closeLast(context.Background())) })
		return func() storage.Client {
			require.NoError(t, closeLast(t.Context()))
			client, err := ext.GetClient(t.Context(), component.KindReceiver, storageID, "")
			require.NoError(t, err)
			closeLast = client.Close
			return client
		}
	},
	"walker": func(*testing.T) func() storage.Client {
		s := &walkingStorage{}
		return func() storage.Client { return s }
	},
	"index": func(*testing.T) func() storage.Client {
		s := &memoryStorage{}
		return func() storage.Client { return s }
	},
}

func set(key, value string) ledger.Op { return ledger.Op{Key: key, Value: []byte(value)} }

func remove(key string) ledger.Op { return ledger.Op{Key: key} }

func TestStore(t *testing.T) {
	for kind, prepare := range storeKinds {
		for name, tt := range map[string]struct {
			batches [][]ledger.Op
			want    map[string]string
		}{
			"nothing":                       {},
			"no operations":                 {batches: [][]ledger.Op{{}}},
			"keys":                          {batches: [][]ledger.Op{{set("v", "1"), set("f/1", "a")}, {set("f/2", "b")}}, want: map[string]string{"v": "1", "f/1": "a", "f/2": "b"}},
			"replaced":                      {batches: [][]ledger.Op{{set("v", "1")}, {set("v", "2")}}, want: map[string]string{"v": "2"}},
			"last of a batch":               {batches: [][]ledger.Op{{set("v", "1"), remove("v"), set("v", "3")}}, want: map[string]string{"v": "3"}},
			"deleted":                       {batches: [][]ledger.Op{{set("a", "1"), set("b", "2")}, {remove("a")}}, want: map[string]string{"b": "2"}},
			"deleted in the batch that set": {batches: [][]ledger.Op{{set("a", "1"), remove("a")}}},
			"deleted, set again":            {batches: [][]ledger.Op{{set("a", "1")}, {remove("a"), set("a", "2")}}, want: map[string]string{"a": "2"}},
			"deleted twice":                 {batches: [][]ledger.Op{{set("a", "1")}, {remove("a")}, {remove("a"), remove("b")}}},
			"empty value":                   {batches: [][]ledger.Op{{set("a", "")}}, want: map[string]string{"a": ""}},
		} {
			t.Run(kind+"/"+name, func(t *testing.T) {
				open := prepare(t)
				s := newClientStore(open(), zap.NewNop())
				for _, ops := range tt.batches {
					require.NoError(t, s.Batch(t.Context(), ops...))
				}
				want := tt.want
				if want == nil {
					want = map[string]string{}
				}
				assert.Equal(t, want, walked(t, s))
				again := newClientStore(open(), zap.NewNop())
				assert.Equal(t, want, walked(t, again), "after a restart")
				for key, value := range want {
					got, err := again.Get(t.Context(), key)
					require.NoError(t, err)
					assert.Equal(t, value, string(got))
				}
				got, err := again.Get(t.Context(), "none")
				require.NoError(t, err)
				assert.Nil(t, got)
			})
		}
		t.Run(kind+"/single operations", func(t *testing.T) {
			open := prepare(t)
			s := newClientStore(open(), zap.NewNop())
			require.NoError(t, s.Set(t.Context(), "a", []byte("1")))
			require.NoError(t, s.Set(t.Context(), "b", []byte{}))
			require.NoError(t, s.Set(t.Context(), "d", []byte("4")))
			require.NoError(t, s.Set(t.Context(), "d", nil))
			require.NoError(t, s.Set(t.Context(), "c", []byte("3")))
			require.NoError(t, s.Delete(t.Context(), "a"))
			require.NoError(t, s.Delete(t.Context(), "none"))
			assert.Equal(t, map[string]string{"b": "", "c": "3"}, walked(t, newClientStore(open(), zap.NewNop())))
		})
		t.Run(kind+"/a walk that stops", func(t *testing.T) {
			s := newClientStore(prepare(t)(), zap.NewNop())
			require.NoError(t, s.Batch(t.Context(), set("a", "1"), set("b", "2")))
			stop, n := errors.New("enough"), 0
			assert.Equal(t, stop, s.Walk(t.Context(), func(string, []byte) error { n++; return stop }))
			assert.Equal(t, 1, n)
		})
		t.Run(kind+"/like a map", func(t *testing.T) {
			open := prepare(t)
			s := newClientStore(open(), zap.NewNop())
			r, want := rand.New(rand.NewPCG(1, 2)), map[string]string{}
			for range 300 {
				var ops []ledger.Op
				for range r.IntN(8) {
					key := fmt.Sprintf("k/%d", r.IntN(600))
					if r.IntN(3) == 0 {
						ops = append(ops, remove(key))
						delete(want, key)
						continue
					}
					ops = append(ops, set(key, fmt.Sprint(len(want))))
					want[key] = fmt.Sprint(len(want))
				}
				require.NoError(t, s.Batch(t.Context(), ops...))
				if r.IntN(20) == 0 {
					s = newClientStore(open(), zap.NewNop())
				}
			}
			assert.Equal(t, want, walked(t, s))
			assert.Equal(t, want, walked(t, newClientStore(open(), zap.NewNop())))
		})
	}
}

// TestStoreFails has batches fail, before or after they were done: errors come through, and what the store
// shows is what is stored.
func TestStoreFails(t *testing.T) {
	for kind, prepare := range map[string]func() (storage.Client, *memoryStorage){
		"walker": func() (storage.Client, *memoryStorage) { s := &walkingStorage{}; return s, &s.memoryStorage },
		"index":  func() (storage.Client, *memoryStorage) { s := &memoryStorage{}; return s, s },
	} {
		for name, tt := range map[string]struct {
			done bool
			ops  []ledger.Op
		}{
			"a key":             {ops: []ledger.Op{set("b", "2")}},
			"a key, done":       {ops: []ledger.Op{set("b", "2")}, done: true},
			"a deletion":        {ops: []ledger.Op{remove("a")}},
			"a deletion, done":  {ops: []ledger.Op{remove("a")}, done: true},
			"a value":           {ops: []ledger.Op{set("a", "2")}},
			"a value, done":     {ops: []ledger.Op{set("a", "2")}, done: true},
			"all of it":         {ops: []ledger.Op{remove("a"), set("b", "2"), set("c", "3")}},
			"all of it, done":   {ops: []ledger.Op{remove("a"), set("b", "2"), set("c", "3")}, done: true},
			"keys of one shard": {ops: inOneShard("a", 5), done: true},
		} {
			t.Run(kind+"/"+name, func(t *testing.T) {
				client, memory := prepare()
				s := newClientStore(client, zap.NewNop())
				want := map[string]string{"a": "1", "d": "4"}
				require.NoError(t, s.Batch(t.Context(), set("a", "1"), set("d", "4")))
				memory.fail = func(ops []*storage.Operation) (bool, error) {
					if ops[0].Type == storage.Get {
						return true, nil
					}
					return tt.done, storage.ErrStorageFull
				}
				require.ErrorIs(t, s.Batch(t.Context(), tt.ops...), storage.ErrStorageFull)
				memory.fail = nil
				if tt.done {
					apply(want, tt.ops)
				}
				assert.Equal(t, want, walked(t, s))

				require.NoError(t, s.Batch(t.Context(), set("e", "5")), "it goes on")
				require.NoError(t, s.Batch(t.Context(), tt.ops...), "the same once more")
				want["e"] = "5"
				apply(want, tt.ops)
				assert.Equal(t, want, walked(t, s))
				assert.Equal(t, want, walked(t, newClientStore(client, zap.NewNop())))
			})
		}
		t.Run(kind+"/reading", func(t *testing.T) {
			client, memory := prepare()
			away := errors.New("away")
			memory.fail = func([]*storage.Operation) (bool, error) { return false, away }
			s := newClientStore(client, zap.NewNop())
			_, err := s.Get(t.Context(), "f/1")
			require.ErrorIs(t, err, away)
			assert.ErrorContains(t, err, "f/1")
			require.ErrorIs(t, s.Walk(t.Context(), func(string, []byte) error { return nil }), away)
			require.ErrorIs(t, s.Set(t.Context(), "f/1", []byte("1")), away)
			memory.fail = nil
			require.NoError(t, s.Set(t.Context(), "f/1", []byte("1")))
			assert.Equal(t, map[string]string{"f/1": "1"}, walked(t, s))
		})
	}
}

// TestStoreFull fills a database up to max_size: what is in it stays, and writing goes on once it may grow.
func TestStoreFull(t *testing.T) {
	dir := t.TempDir()
	open := func(maxSize int64) (ledger.Store, func()) {
		client, err := fileStorage(t, dir, maxSize).GetClient(t.Context(), component.KindReceiver, storageID, "")
		require.NoError(t, err)
		return newClientStore(client, zap.NewNop()), func() { require.NoError(t, client.Close(t.Context())) }
	}
	s, closeStore := open(256 << 10)
	var err error
	want, value := map[string]string{}, strings.Repeat("x", 2000)
	for n := 0; err == nil; n++ {
		require.Less(t, n, 1000)
		key := fmt.Sprintf("k/%03d", n)
		if err = s.Batch(t.Context(), set(key, value), set("v", key)); err == nil {
			want[key], want["v"] = value, key
		}
	}
	require.ErrorIs(t, err, storage.ErrStorageFull)
	assert.Equal(t, want, walked(t, s))
	closeStore()

	s, closeStore = open(1 << 20)
	assert.Equal(t, want, walked(t, s))
	require.NoError(t, s.Batch(t.Context(), remove("v"), set("k/new", value)))
	delete(want, "v")
	want["k/new"] = value
	assert.Equal(t, want, walked(t, s))
	closeStore()
}

func apply(to map[string]string, ops []ledger.Op) {
	for _, op := range ops {
		if op.Value == nil {
			delete(to, op.Key)
		} else {
			to[op.Key] = string(op.Value)
		}
	}
}

// inOneShard sets n keys of the shard of one.
func inOneShard(one string, n int) (ops []ledger.Op) {
	for i := 0; len(ops) < n; i++ {
		if key := fmt.Sprintf("k/%d", i); shardOf(key) == shardOf(one) {
			ops = append(ops, set(key, "x"))
		}
	}
	return ops
}

// TestIndexDamaged shows that a list that cannot be read costs what it named, and nothing else.
func TestIndexDamaged(t *testing.T) {
	whole := encodeIndex(map[string]struct{}{"a": {}, strings.Repeat("b", 200): {}})
	values := map[string][]byte{"empty": {}, "version": append([]byte{2}, whole[1:]...), "longer": append(slices.Clone(whole), 0)}
	for n := range len(whole) {
		values[fmt.Sprintf("cut at %d", n)] = whole[:n]
		flipped := slices.Clone(whole)
		flipped[n] ^= 0x10
		values[fmt.Sprintf("flipped at %d", n)] = flipped
	}
	for name, value := range values {
		_, err := decodeIndex(value)
		require.ErrorIs(t, err, errIndex, name)
	}
	keys, err := decodeIndex(whole)
	require.NoError(t, err)
	assert.Len(t, keys, 2)

	memory := &memoryStorage{}
	require.NoError(t, newClientStore(memory, zap.NewNop()).Batch(t.Context(), set("a", "1"), set("b", "2")))
	memory.values[shardKey(shardOf("a"))] = []byte("?")
	core, logs := observer.New(zap.DebugLevel)
	s := newClientStore(memory, zap.New(core))
	assert.Equal(t, map[string]string{"b": "2"}, walked(t, s))
	assert.Equal(t, 1, logs.Len(), "it is told once")
	require.NoError(t, s.Batch(t.Context(), set("a", "3")))
	assert.Equal(t, map[string]string{"a": "3", "b": "2"}, walked(t, newClientStore(memory, zap.NewNop())))
}

// TestIndexIsLazy shows what is read of the index: the shards of the keys that are changed.
func TestIndexIsLazy(t *testing.T) {
	memory := &memoryStorage{}
	var gets []string
	memory.fail = func(ops []*storage.Operation) (bool, error) {
		for _, op := range ops {
			if op.Type == storage.Get {
				gets = append(gets, op.Key)
			}
		}
		return true, nil
	}
	s := newClientStore(memory, zap.NewNop())
	require.NoError(t, s.Batch(t.Context(), set("a", "1")))
	require.NoError(t, s.Batch(t.Context(), set("a", "2"), remove("a")))
	assert.Equal(t, []string{shardKey(shardOf("a"))}, gets)
	assert.Empty(t, memory.values, "an empty list is none")
}

// TestIndexOfFormerTimes shows that an index goes once the extension can list its keys.
func TestIndexOfFormerTimes(t *testing.T) {
	s := &walkingStorage{}
	require.NoError(t, newClientStore(&s.memoryStorage, zap.NewNop()).Batch(t.Context(), set("a", "1"), set("b", "2")))
	require.Len(t, s.values, 4)
	assert.Equal(t, map[string]string{"a": "1", "b": "2"}, walked(t, newClientStore(s, zap.NewNop())))
	assert.Len(t, s.values, 2)
}

func TestOpenStore(t *testing.T) {
	other := component.MustNewID("pprof")
	for name, tt := range map[string]struct {
		extensions map[component.ID]component.Component
		want       string
	}{
		"none":        {want: `storage must name an extension that service.extensions starts, and "file_storage" is none`},
		"other":       {extensions: map[component.ID]component.Component{other: &memoryStorage{}}, want: `storage must name an extension`},
		"no storage":  {extensions: map[component.ID]component.Component{storageID: componentOnly{}}, want: `storage must name a storage extension, and "file_storage" is not one`},
		"cannot open": {extensions: map[component.ID]component.Component{storageID: closedStorage{}}, want: `open storage "file_storage": no room`},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := withTCP(newConfig())
			cfg.Storage = &storageID
			all := createAll(t, nopSettings(), cfg, nopConsumers())
			for _, c := range all {
				require.ErrorContains(t, c.Start(t.Context(), &extensionHost{extensions: tt.extensions}), tt.want)
			}
			for _, c := range all {
				require.NoError(t, c.Shutdown(t.Context()))
			}
		})
	}
	t.Run("without", func(t *testing.T) {
		r, err := newReceiver(withTCP(newConfig()), nopSettings())
		require.NoError(t, err)
		store, closeStore, err := r.openStore(t.Context(), componenttest.NewNopHost())
		require.NoError(t, err)
		require.NoError(t, store.Batch(t.Context(), set("v", "1")))
		assert.Equal(t, map[string]string{"v": "1"}, walked(t, store))
		require.NoError(t, closeStore(t.Context()))
	})
	t.Run("closed at the end", func(t *testing.T) {
		memory, cfg := &memoryStorage{}, withTCP(newConfig())
		cfg.Storage = &storageID
		host := &extensionHost{extensions: map[component.ID]component.Component{storageID: memory}}
		all := createAll(t, nopSettings(), cfg, nopConsumers())
		for _, c := range all {
			require.NoError(t, c.Start(t.Context(), host))
		}
		assert.Zero(t, memory.closed)
		for _, c := range all {
			require.NoError(t, c.Shutdown(t.Context()))
		}
		assert.Equal(t, 1, memory.closed)
	})
	t.Run("closed when something else does not start", func(t *testing.T) {
		memory, cfg := &memoryStorage{}, withTCP(newConfig())
		cfg.Storage = &storageID
		cfg.TCP.Get().Address.Endpoint = "256.0.0.1:1"
		c := createAll(t, nopSettings(), cfg, nopConsumers())[0]
		require.Error(t, c.Start(t.Context(), &extensionHost{extensions: map[component.ID]component.Component{storageID: memory}}))
		require.NoError(t, c.Shutdown(t.Context()))
		assert.Equal(t, 1, memory.closed)
	})
	t.Run("used by another process", func(t *testing.T) {
		ext, cfg := fileStorage(t, t.TempDir(), 0), withTCP(newConfig())
		cfg.Storage = &storageID
		host := &extensionHost{extensions: map[component.ID]component.Component{storageID: ext}}
		r, err := newReceiver(cfg, nopSettings())
		require.NoError(t, err)
		_, closeStore, err := r.openStore(t.Context(), host)
		require.NoError(t, err)
		_, _, err = r.openStore(t.Context(), host)
		require.EqualError(t, err, `open storage "file_storage": another process may be using it: timeout`)
		require.NoError(t, closeStore(t.Context()))
		_, closeStore, err = r.openStore(t.Context(), host)
		require.NoError(t, err)
		require.NoError(t, closeStore(t.Context()))
	})
}

// componentOnly is an extension that stores nothing.
type componentOnly struct {
	component.StartFunc
	component.ShutdownFunc
}

// closedStorage gives no client.
type closedStorage struct{ componentOnly }

func (closedStorage) GetClient(context.Context, component.Kind, component.ID, string) (storage.Client, error) {
	return nil, errors.New("no room")
}
