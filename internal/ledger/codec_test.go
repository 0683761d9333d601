// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelcol-agents/otelcol-agents/translate/session"
)

// damages are the ways in which a value can be spoiled.
func damages(value []byte) map[string][]byte {
	all := map[string][]byte{
		"empty":           {},
		"one byte":        value[:1],
		"half":            value[:len(value)/2],
		"last byte off":   value[:len(value)-1],
		"trailing byte":   append(bytes.Clone(value), 0),
		"twice":           append(bytes.Clone(value), value...),
		"zeroes":          make([]byte, len(value)),
		"another version": reseal(version+1, value[1:len(value)-crc32.Size]),
		"version 0":       reseal(0, value[1:len(value)-crc32.Size]),
	}
	for i := range value {
		flipped := bytes.Clone(value)
		flipped[i] ^= 1 << (i % 8)
		all["bit flipped at "+string(appendHex(nil, uint64(i), 8))] = flipped
	}
	return all
}

func reseal(v byte, body []byte) []byte {
	value := append([]byte{v}, body...)
	return binary.LittleEndian.AppendUint32(value, crc32.Checksum(value, castagnoli))
}

// bodies are decoders of what is under the seal, and something that they understand.
func bodies() map[string]struct {
	body   []byte
	decode func([]byte) error
} {
	r := rand.New(rand.NewPCG(1, 2))
	f, s := randomFile(r, 1), randomState(r)
	f.Sessions, s.Hashes = []uint64{1, 2}, [][]uint64{{1}, nil, {2, 3}}
	s.Refs, s.Counted = make([]session.SegmentRef, 2), make([]session.Counted, 2)
	var c chunks
	c.add(nil, []session.Entry{randomEntry(r, 2), randomEntry(r, 2), randomEntry(r, 2)}, 7)
	v := versionValue{start: 5, started: true, last: 300}
	return map[string]struct {
		body   []byte
		decode func([]byte) error
	}{
		"file":    {f.append(nil), func(b []byte) error { _, err := decodeFile(1, b); return err }},
		"state":   {appendState(nil, &s, 3), func(b []byte) error { _, _, err := decodeState(b); return err }},
		"entries": {c.tail, func(b []byte) error { return new(chunks).read(1, b) }},
		"left":    {appendFixed(appendFixed(nil, 1), 2), func(b []byte) error { _, _, err := unsealLeft(Seal(b), nil); return err }},
		"version": {v.op().Value[1 : len(v.op().Value)-crc32.Size], func(b []byte) error { _, err := unsealVersion(Seal(b)); return err }},
	}
}

func TestSeal(t *testing.T) {
	for _, body := range [][]byte{{}, {0}, []byte("some body")} {
		value := Seal(body)
		got, err := Unseal(value)
		require.NoError(t, err)
		require.Equal(t, body, got)
		_ = append(got, "more"...)
		require.Equal(t, Seal(body), value, "appending to a body leaves the value alone")
		for name, damaged := range damages(value) {
			_, err := Unseal(damaged)
			require.Error(t, err, name)
		}
	}
	_, err := Unseal(nil)
	require.ErrorContains(t, err, "0 bytes are too few")
	_, err = Unseal(reseal(9, nil))
	require.ErrorContains(t, err, "version 9, want 1")
}

// TestDecodeDamaged spoils what is under the seal.
func TestDecodeDamaged(t *testing.T) {
	for name, tt := range bodies() {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, tt.decode(tt.body))
			whole := 0
			for n := range tt.body {
				if tt.decode(tt.body[:n]) == nil {
					whole++ // a list of which nothing tells the length
				}
				for bit := range 8 {
					flipped := bytes.Clone(tt.body)
					flipped[n] ^= 1 << bit
					_ = tt.decode(flipped)
				}
				// A length or count that nothing can have.
				huge := append(binary.AppendUvarint(bytes.Clone(tt.body[:n]), math.MaxUint64), tt.body[n:]...)
				_ = tt.decode(huge)
				_ = tt.decode(append(bytes.Clone(tt.body[:n]), bytes.Repeat([]byte{0xff}, 20)...))
			}
			switch name {
			case "left", "entries":
			default:
				require.Zero(t, whole, "a part is not the whole")
				require.ErrorIs(t, tt.decode(append(bytes.Clone(tt.body), 0)), errTrailing)
			}
		})
	}
}

// TestDecodeHugeCounts decodes small bodies that promise much.
func TestDecodeHugeCounts(t *testing.T) {
	huge := binary.AppendUvarint(nil, 1<<40)
	state := appendState(nil, &session.State{}, 0)
	tests := map[string]func() error{
		"text of a state": func() error { _, _, err := decodeState(append([]byte{0}, huge...)); return err },
		"refs":            func() error { _, _, err := decodeState(append(bytes.Clone(state[:len(state)-3]), huge...)); return err },
		"counted":         func() error { _, _, err := decodeState(append(bytes.Clone(state[:len(state)-2]), huge...)); return err },
		"lists of hashes": func() error { _, _, err := decodeState(append(bytes.Clone(state[:len(state)-1]), huge...)); return err },
		"hashes": func() error {
			_, _, err := decodeState(append(append(bytes.Clone(state[:len(state)-1]), 1), huge...))
			return err
		},
		"path": func() error { _, err := decodeFile(1, append([]byte{0}, huge...)); return err },
		"sessions of a file": func() error {
			b := new(File).append(nil)
			_, err := decodeFile(1, append(b[:len(b)-1], huge...))
			return err
		},
		"more than any count": func() error {
			_, _, err := decodeState(append([]byte{0}, bytes.Repeat([]byte{0xff}, 11)...))
			return err
		},
	}
	for name, decode := range tests {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			require.Error(t, decode())
			runtime.ReadMemStats(&after)
			require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<20))
		})
	}
}

func TestRoundTrips(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 500 {
		f := randomFile(r, FileID(1+r.Uint64N(9)))
		gotFile, err := decodeFile(f.ID, f.append(nil))
		require.NoError(t, err)
		require.Equal(t, f, gotFile)

		s, touched := randomState(r), number(r)
		gotState, gotTouched, err := decodeState(appendState(nil, &s, touched))
		require.NoError(t, err)
		require.Equal(t, s, gotState)
		require.Equal(t, touched, gotTouched)

		v := versionValue{start: number(r), started: chance(r), last: FileID(r.Uint64())}
		gotVersion, err := unsealVersion(v.op().Value)
		require.NoError(t, err)
		require.Equal(t, v, gotVersion)
	}
}

func TestKeys(t *testing.T) {
	require.Equal(t, "f/00000000000000ff", fileKey(255))
	require.Equal(t, "e/8000000000000001/0000000a", leftKey(1<<63|1, 10))
	require.Equal(t, "j/0000000000000001/0000000000000002", JournalKey(1, 2))
	require.Less(t, JournalKey(9, 16), JournalKey(10, 1))
	for digits, ok := range map[string]bool{
		"00000000000000ff": true, "00000000000000FF": false, "ff": false, "": false, "+0000000000000ff": false,
		"00000000000000f_": false, "000000000000000ff": false,
	} {
		_, got := hexNumber(digits, wideDigits)
		require.Equal(t, ok, got, digits)
	}
}

func FuzzUnseal(f *testing.F) {
	f.Add(Seal([]byte("x")))
	f.Fuzz(func(t *testing.T, value []byte) {
		if body, err := Unseal(value); err == nil {
			require.Equal(t, value, Seal(body))
		}
	})
}

func FuzzFile(f *testing.F) {
	f.Add(bodies()["file"].body)
	f.Fuzz(func(t *testing.T, body []byte) {
		if file, err := decodeFile(1, body); err == nil {
			again, err := decodeFile(1, file.append(nil))
			require.NoError(t, err)
			require.Equal(t, file, again)
		}
	})
}

func FuzzState(f *testing.F) {
	f.Add(bodies()["state"].body)
	f.Fuzz(func(t *testing.T, body []byte) {
		s, touched, err := decodeState(body)
		if err != nil {
			return
		}
		// As bytes, since a NaN is not equal to itself.
		once := appendState(nil, &s, touched)
		s, touched, err = decodeState(once)
		require.NoError(t, err)
		require.Equal(t, once, appendState(nil, &s, touched))
	})
}

func FuzzEntries(f *testing.F) {
	f.Add(bodies()["entries"].body)
	f.Fuzz(func(t *testing.T, body []byte) {
		var c chunks
		if c.read(1, body) != nil {
			require.Zero(t, c.total)
			return
		}
		n := 0
		c.unread(func(session.Entry) bool { n++; return true })
		require.Equal(t, c.total, n)
	})
}

func FuzzLeft(f *testing.F) {
	f.Add(bodies()["left"].body)
	f.Fuzz(func(t *testing.T, body []byte) {
		got, left, err := unsealLeft(Seal(body), []uint64{7})
		require.Equal(t, uint64(7), left[0])
		if err == nil {
			require.Len(t, got, 8*(len(left)-1))
		}
	})
}

func FuzzVersion(f *testing.F) {
	f.Add(bodies()["version"].body)
	f.Fuzz(func(_ *testing.T, body []byte) { _, _ = unsealVersion(Seal(body)) })
}

// FuzzOpen opens a store that has a key and value of any kind.
func FuzzOpen(f *testing.F) {
	f.Add("v", []byte{}, true)
	f.Add(fileKey(1), bodies()["file"].body, true)
	f.Add(stateKey(1), bodies()["state"].body, true)
	f.Add(leftKey(1, 3), bodies()["left"].body, true)
	f.Add(entryKey(1), bodies()["entries"].body, true)
	f.Add(JournalKey(1, 1), []byte("x"), true)
	f.Fuzz(func(t *testing.T, key string, value []byte, sealed bool) {
		store := NewMemory()
		if sealed {
			value = Seal(value)
		}
		require.NoError(t, store.Set(t.Context(), key, value))
		l := open(t, store, noon)
		for key := range l.Sessions() {
			_ = recall(t, l, key)
		}
		for range l.Entries() { //nolint:revive // they are only read
		}
		sweep(t, l, noon, nil)
		require.Zero(t, open(t, store, noon).Damaged(), "what was damaged is gone")
	})
}
