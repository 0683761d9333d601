// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
)

const (
	// version is the first byte of every value. A value of another version is not understood: it counts as
	// damaged, which costs reading files again.
	version   = 1
	sealBytes = 1 + crc32.Size
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Seal makes the value that is stored of a body: the version, the body, a checksum.
func Seal(body []byte) []byte {
	value := make([]byte, 0, len(body)+sealBytes)
	value = append(value, version)
	value = append(value, body...)
	return binary.LittleEndian.AppendUint32(value, crc32.Checksum(value, castagnoli))
}

// Unseal gives the body of a sealed value, or says what is wrong with the value. The body is not copied, but
// appending to it copies.
func Unseal(value []byte) ([]byte, error) {
	if len(value) < sealBytes {
		return nil, fmt.Errorf("unseal: %d bytes are too few", len(value))
	}
	end := len(value) - crc32.Size
	if got, want := crc32.Checksum(value[:end], castagnoli), binary.LittleEndian.Uint32(value[end:]); got != want {
		return nil, fmt.Errorf("unseal: checksum %08x, want %08x", got, want)
	}
	// After the checksum, so that a flipped bit is not taken for another release.
	if value[0] != version {
		return nil, fmt.Errorf("unseal: version %d, want %d", value[0], version)
	}
	return value[1:end:end], nil
}

var (
	errShort    = errors.New("it ends too early")
	errTrailing = errors.New("something follows it")
	errRange    = errors.New("a number is out of range")
)

// reader takes a body apart. After the first error everything it gives is zero, so that a decoder looks at
// err once, at its end. It trusts no length: what it allocates is at most in proportion to the body.
type reader struct {
	b   []byte
	err error
}

func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
	r.b = nil
}

// end is the error of the whole: a body must be used up.
func (r *reader) end() error {
	if r.err == nil && len(r.b) > 0 {
		r.fail(errTrailing)
	}
	return r.err
}

// take is the next n bytes, not copied; nil if there are fewer.
func (r *reader) take(n int) []byte {
	if n > len(r.b) {
		r.fail(errShort)
		return nil
	}
	taken := r.b[:n]
	r.b = r.b[n:]
	return taken
}

func (r *reader) byte() byte {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *reader) fixed() uint64 {
	if b := r.take(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

func (r *reader) float() float64 { return math.Float64frombits(r.fixed()) }

func (r *reader) uvarint() uint64 { return variable(r, binary.Uvarint) }

func (r *reader) varint() int64 { return variable(r, binary.Varint) }

// variable reads a number of variable length; read tells its length as encoding/binary does.
func variable[T int64 | uint64](r *reader, read func([]byte) (T, int)) T {
	v, n := read(r.b)
	switch {
	case n == 0:
		r.fail(errShort)
	case n < 0:
		r.fail(errRange)
	default:
		r.b = r.b[n:]
		return v
	}
	return 0
}

// limited is an unsigned number that is not above most.
func (r *reader) limited(most uint64) uint64 {
	v := r.uvarint()
	if v > most {
		r.fail(errRange)
		return 0
	}
	return v
}

// count is how many elements follow, each of at least size bytes.
func (r *reader) count(size int) int {
	v := r.uvarint()
	if v > uint64(len(r.b)/size) {
		r.fail(errShort)
		return 0
	}
	return int(v) //nolint:gosec // not above the length of a slice
}

func (r *reader) string() string { return string(r.take(r.count(1))) }

// fixeds is a list of 8-byte numbers; nil if it is empty.
func (r *reader) fixeds() []uint64 {
	n := r.count(8)
	if n == 0 {
		return nil
	}
	list := make([]uint64, n)
	for i := range list {
		list[i] = r.fixed()
	}
	return list
}

func (r *reader) flags(known byte) byte {
	v := r.byte()
	if v&^known != 0 {
		r.fail(errRange)
		return 0
	}
	return v
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func appendFixed(b []byte, v uint64) []byte { return binary.LittleEndian.AppendUint64(b, v) }

func appendFloat(b []byte, v float64) []byte { return appendFixed(b, math.Float64bits(v)) }

func appendFixeds(b []byte, list []uint64) []byte {
	b = binary.AppendUvarint(b, uint64(len(list)))
	for _, v := range list {
		b = appendFixed(b, v)
	}
	return b
}

// flag is bit if yes.
func flag(yes bool, bit byte) byte {
	if yes {
		return bit
	}
	return 0
}
