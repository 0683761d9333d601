// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"cmp"
	"encoding/binary"
	"slices"
	"time"

	"github.com/otelcol-agents/otelcol-agents/translate/session"
)

const (
	// chunkBytes is how large a chunk grows before the next one begins. What a commit rewrites is half of it
	// on average.
	chunkBytes = 4 << 10
	// Horizon is how long facts are kept about what nothing comes from any more.
	Horizon     = 30 * 24 * time.Hour
	horizonDays = int64(Horizon / day)
	day         = 24 * time.Hour
	// MaxEntries is how many entries are kept; over it the oldest chunks go.
	MaxEntries = 1 << 20
)

// chunk is what is known of a value u/<n>.
type chunk struct {
	n     uint64
	day   int64 // days since 1970; all of its entries are of one day
	count int
	body  []byte // as it was read, until Entries hands it over
}

// chunks is the list of entries: values that are appended to one after the other.
type chunks struct {
	list  []chunk // by n; the last one grows
	total int
	next  uint64
	tail  []byte // body of the last of list, if it may grow
	codec entryCodec
}

// add appends entries and gives the values that this changed.
func (c *chunks) add(ops []Op, entries []session.Entry, today int64) []Op {
	for i := range entries {
		last := len(c.list) - 1
		if c.tail == nil || c.list[last].day != today || len(c.tail)+mostEntry > chunkBytes {
			if i > 0 {
				ops = append(ops, c.op())
			}
			c.begin(today)
			last = len(c.list) - 1
		}
		c.tail = c.codec.append(c.tail, &entries[i])
		c.list[last].count++
		c.total++
	}
	if len(entries) > 0 {
		ops = append(ops, c.op())
	}
	return ops
}

func (c *chunks) op() Op { return Op{Key: entryKey(c.list[len(c.list)-1].n), Value: Seal(c.tail)} }

func (c *chunks) begin(today int64) {
	c.list = append(c.list, chunk{n: c.next, day: today})
	c.next++
	c.tail = binary.AppendVarint(make([]byte, 0, chunkBytes), today)
	c.codec = entryCodec{}
}

// read takes a chunk as it is stored.
func (c *chunks) read(n uint64, body []byte) error {
	r := reader{b: body}
	k := chunk{n: n, day: r.varint(), body: body}
	var codec entryCodec
	for r.err == nil && len(r.b) > 0 {
		_ = codec.read(&r)
		k.count++
	}
	if err := r.end(); err != nil {
		return err
	}
	c.list = append(c.list, k)
	c.total += k.count
	return nil
}

// sort is called when every chunk was read.
func (c *chunks) sort() {
	slices.SortFunc(c.list, func(x, y chunk) int { return cmp.Compare(x.n, y.n) })
}

// resume lets the last chunk grow if it is of today.
func (c *chunks) resume(today int64) {
	if len(c.list) == 0 {
		return
	}
	last := &c.list[len(c.list)-1]
	if last.day != today {
		return
	}
	c.codec = entryCodec{}
	r := reader{b: last.body}
	_ = r.varint()
	for len(r.b) > 0 {
		_ = c.codec.read(&r)
	}
	c.tail = append(make([]byte, 0, chunkBytes), last.body...)
}

// expire forgets the chunks that are past the horizon, and the oldest while there are too many entries. It
// gives their keys.
func (c *chunks) expire(today int64) []string {
	var keys []string
	left, kept := c.total, c.list[:0]
	for i, k := range c.list {
		if k.day+horizonDays >= today && left <= MaxEntries {
			kept = append(kept, k)
			continue
		}
		left -= k.count
		keys = append(keys, entryKey(k.n))
		if i == len(c.list)-1 {
			c.tail = nil
		}
	}
	clear(c.list[len(kept):])
	c.list, c.total = kept, left
	return keys
}

// unread gives the entries that were read at Open, each once.
func (c *chunks) unread(yield func(session.Entry) bool) {
	for i := range c.list {
		body := c.list[i].body
		c.list[i].body = nil
		if body == nil {
			continue
		}
		r := reader{b: body}
		_ = r.varint()
		var codec entryCodec
		for len(r.b) > 0 {
			if !yield(codec.read(&r)) {
				return
			}
		}
	}
}
