// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package agentstreamreceiver // import "github.com/otelcol-agents/otelcol-agents/receiver/agentstreamreceiver"

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"hash/fnv"
	"maps"
	"slices"
	"strings"
	"sync"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/extension/xextension/storage"
	"go.uber.org/zap"

	"github.com/otelcol-agents/otelcol-agents/internal/ledger"
)

// openStore opens what the key storage names. What it opened is closed by the function that it gives, after
// everything else. Without storage the store ends with the process.
func (r *agentStream) openStore(ctx context.Context, host component.Host) (ledger.Store, func(context.Context) error, error) {
	if r.cfg.Storage == nil {
		return ledger.NewMemory(), func(context.Context) error { return nil }, nil
	}
	id := *r.cfg.Storage
	ext, ok := host.GetExtensions()[id]
	if !ok {
		return nil, nil, fmt.Errorf("storage must name an extension that service.extensions starts, and %q is none", id)
	}
	storages, ok := ext.(storage.Extension)
	if !ok {
		return nil, nil, fmt.Errorf("storage must name a storage extension, and %q is not one", id)
	}
	client, err := storages.GetClient(ctx, component.KindReceiver, r.set.ID, "")
	if err != nil {
		if strings.HasSuffix(err.Error(), "timeout") { // all that bbolt says of a locked database
			err = fmt.Errorf("another process may be using it: %w", err)
		}
		return nil, nil, fmt.Errorf("open storage %q: %w", id, err)
	}
	return newClientStore(client, r.set.Logger), client.Close, nil
}

// newClientStore is a store over any client: one that cannot list its keys gets a list of them beside them.
func newClientStore(client storage.Client, logger *zap.Logger) ledger.Store {
	s := clientStore{client: client}
	if walker, ok := client.(storage.Walker); ok {
		return &walkedStore{clientStore: s, walker: walker}
	}
	return &indexedStore{clientStore: s, logger: logger}
}

// indexPrefix is that of the adapter's own keys, which no walk shows.
const indexPrefix = "i/"

// clientStore is what both kinds of clients do alike.
type clientStore struct{ client storage.Client }

// Get implements ledger.Store.
func (s *clientStore) Get(ctx context.Context, key string) ([]byte, error) {
	value, err := s.client.Get(ctx, key)
	if err != nil {
		return nil, fmt.Errorf("get %s: %w", key, err)
	}
	return value, nil
}

// put does operations in one batch of the client.
func (s *clientStore) put(ctx context.Context, ops []ledger.Op) error {
	out := make([]*storage.Operation, len(ops))
	size := 0
	for i, op := range ops {
		if op.Value == nil {
			out[i] = storage.DeleteOperation(op.Key)
		} else {
			out[i] = storage.SetOperation(op.Key, op.Value)
		}
		size += len(op.Value)
	}
	if err := s.client.Batch(ctx, out...); err != nil {
		return fmt.Errorf("store %d keys, %d bytes: %w", len(ops), size, err)
	}
	return nil
}

// walkedStore is a store whose client lists its keys.
type walkedStore struct {
	clientStore
	walker storage.Walker
}

var _ ledger.Store = (*walkedStore)(nil)

// Set implements ledger.Store. As in a batch, a nil value deletes.
func (s *walkedStore) Set(ctx context.Context, key string, value []byte) error {
	return s.Batch(ctx, ledger.Op{Key: key, Value: value})
}

// Delete implements ledger.Store.
func (s *walkedStore) Delete(ctx context.Context, key string) error {
	return s.Batch(ctx, ledger.Op{Key: key})
}

// Batch implements ledger.Store.
func (s *walkedStore) Batch(ctx context.Context, ops ...ledger.Op) error {
	if len(ops) == 0 {
		return nil
	}
	return s.put(ctx, ops)
}

// Walk implements ledger.Store. visit must not call the store: file_storage walks in a transaction that
// writes, and another one would wait for its end. An index from a time when the extension could not list
// its keys goes: nobody would keep it right.
func (s *walkedStore) Walk(ctx context.Context, visit func(key string, value []byte) error) error {
	var stopped error
	err := s.walker.Walk(ctx, func(key string, value []byte) ([]*storage.Operation, error) {
		if strings.HasPrefix(key, indexPrefix) {
			return []*storage.Operation{storage.DeleteOperation(key)}, nil
		}
		stopped = visit(key, value)
		return nil, stopped
	})
	if stopped != nil {
		return stopped
	}
	if err != nil {
		return fmt.Errorf("walk the storage: %w", err)
	}
	return nil
}

// shards is the number of keys of an index: few enough to be read at the start, enough that one is short.
const shards = 256

// indexedStore is a store that lists its keys itself: key i/xx has those whose hash ends with xx. It
// changes in the same batch as they do, so the two never differ.
type indexedStore struct {
	clientStore
	logger *zap.Logger

	mu    sync.Mutex                  // held over a batch: the next one builds on what this one wrote
	index [shards]map[string]struct{} // nil: not read yet
}

var _ ledger.Store = (*indexedStore)(nil)

// Set implements ledger.Store. As in a batch, a nil value deletes.
func (s *indexedStore) Set(ctx context.Context, key string, value []byte) error {
	return s.Batch(ctx, ledger.Op{Key: key, Value: value})
}

// Delete implements ledger.Store.
func (s *indexedStore) Delete(ctx context.Context, key string) error {
	return s.Batch(ctx, ledger.Op{Key: key})
}

// Batch implements ledger.Store.
func (s *indexedStore) Batch(ctx context.Context, ops ...ledger.Op) error {
	if len(ops) == 0 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	changed := map[int]map[string]struct{}{}
	for _, op := range ops {
		n := shardOf(op.Key)
		keys, ok := changed[n]
		if !ok {
			var err error
			if keys, err = s.shard(ctx, n); err != nil {
				return err
			}
		}
		_, listed := keys[op.Key]
		if listed == (op.Value != nil) {
			continue
		}
		if !ok {
			keys = maps.Clone(keys)
			changed[n] = keys
		}
		if op.Value != nil {
			keys[op.Key] = struct{}{}
		} else {
			delete(keys, op.Key)
		}
	}
	all := slices.Clone(ops)
	for _, n := range slices.Sorted(maps.Keys(changed)) {
		op := ledger.Op{Key: shardKey(n)}
		if len(changed[n]) > 0 {
			op.Value = encodeIndex(changed[n])
		}
		all = append(all, op)
	}
	if err := s.put(ctx, all); err != nil {
		// Whether it was done is not known: a network may lose an answer. What is stored tells.
		for n := range changed {
			s.index[n] = nil
		}
		return err
	}
	for n, keys := range changed {
		s.index[n] = keys
	}
	return nil
}

// Walk implements ledger.Store.
func (s *indexedStore) Walk(ctx context.Context, visit func(key string, value []byte) error) error {
	for n := range shards {
		s.mu.Lock()
		keys, err := s.shard(ctx, n)
		list := slices.Sorted(maps.Keys(keys))
		s.mu.Unlock()
		if err != nil {
			return err
		}
		for _, key := range list {
			value, err := s.Get(ctx, key)
			if err != nil {
				return err
			}
			if value == nil { // deleted since
				continue
			}
			if err := visit(key, value); err != nil {
				return err
			}
		}
	}
	return nil
}

// shard are the keys of a shard. The lock is held, and the result must not be changed.
func (s *indexedStore) shard(ctx context.Context, n int) (map[string]struct{}, error) {
	if s.index[n] != nil {
		return s.index[n], nil
	}
	value, err := s.Get(ctx, shardKey(n))
	if err != nil {
		return nil, err
	}
	keys, err := decodeIndex(value)
	if err != nil {
		// What stood there is found no more: as if that part of the database had been deleted.
		s.logger.Warn("the list of stored keys is damaged; what it named is read anew", zap.String("key", shardKey(n)), zap.Error(err))
		keys = map[string]struct{}{}
	}
	s.index[n] = keys
	return keys, nil
}

func shardOf(key string) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(key))
	return int(h.Sum32() % shards)
}

func shardKey(n int) string { return fmt.Sprintf("%s%02x", indexPrefix, n) }

// indexVersion is the first byte of an index value: then come the keys in order, each after its length, then a
// checksum of all that.
const indexVersion = 1

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func encodeIndex(keys map[string]struct{}) []byte {
	out := []byte{indexVersion}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		out = binary.AppendUvarint(out, uint64(len(key)))
		out = append(out, key...)
	}
	return binary.BigEndian.AppendUint32(out, crc32.Checksum(out, castagnoli))
}

var errIndex = errors.New("not a list of keys")

func decodeIndex(value []byte) (map[string]struct{}, error) {
	keys := map[string]struct{}{}
	if value == nil {
		return keys, nil
	}
	if len(value) < 5 || value[0] != indexVersion {
		return nil, errIndex
	}
	body, sum := value[:len(value)-4], binary.BigEndian.Uint32(value[len(value)-4:])
	if crc32.Checksum(body, castagnoli) != sum {
		return nil, errIndex
	}
	for body = body[1:]; len(body) > 0; {
		n, size := binary.Uvarint(body)
		if size <= 0 || n > uint64(len(body)-size) {
			return nil, errIndex
		}
		keys[string(body[size:size+int(n)])] = struct{}{}
		body = body[size+int(n):]
	}
	return keys, nil
}
