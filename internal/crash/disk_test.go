// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package crash

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/otelcol-agents/otelcol-agents/internal/ledger"
)

var (
	errDead = errors.New("the process was killed")
	errFull = errors.New("no space left on device")
)

// disk is what outlives processes.
type disk struct {
	mu     sync.Mutex
	values map[string][]byte
	full   bool
}

func newDisk() *disk { return &disk{values: map[string][]byte{}} }

func (d *disk) fill(yes bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.full = yes
}

// keys are those with a prefix, in order.
func (d *disk) keys(prefix string) []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Sorted(func(yield func(string) bool) {
		for key := range d.values {
			if strings.HasPrefix(key, prefix) && !yield(key) {
				return
			}
		}
	})
}

// damage turns bytes of the values of all keys with a prefix, and returns how many there are.
func (d *disk) damage(prefix string) int {
	keys := d.keys(prefix)
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, key := range keys {
		v := slices.Clone(d.values[key])
		if len(v) == 0 {
			v = []byte{0}
		}
		v[len(v)/2] ^= 0x55
		d.values[key] = v
	}
	return len(keys)
}

// store is the disk as one process sees it.
type store struct {
	*disk
	process *process
}

var _ ledger.Store = (*store)(nil)

func (s *store) Get(_ context.Context, key string) ([]byte, error) {
	if s.process.dead.Load() {
		return nil, errDead
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.values[key]), nil
}

func (s *store) Set(ctx context.Context, key string, value []byte) error {
	return s.Batch(ctx, ledger.Op{Key: key, Value: value})
}

func (s *store) Delete(ctx context.Context, key string) error {
	return s.Batch(ctx, ledger.Op{Key: key})
}

func (s *store) Batch(_ context.Context, ops ...ledger.Op) error {
	if s.process.at(event{point: beforeBatch, ops: ops}) {
		return errDead
	}
	s.mu.Lock()
	if s.full {
		s.mu.Unlock()
		return errFull
	}
	for _, op := range ops {
		if op.Value == nil {
			delete(s.values, op.Key)
		} else {
			s.values[op.Key] = slices.Clone(op.Value)
		}
	}
	s.mu.Unlock()
	if s.process.at(event{point: afterBatch, ops: ops}) {
		return errDead
	}
	return nil
}

func (s *store) Walk(_ context.Context, visit func(key string, value []byte) error) error {
	if s.process.dead.Load() {
		return errDead
	}
	s.mu.Lock()
	all := maps.Clone(s.values)
	s.mu.Unlock()
	for key, value := range all { // in any order
		if err := visit(key, slices.Clone(value)); err != nil {
			return err
		}
	}
	return nil
}
