// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"sync"
)

// memory is a Store that ends with the process.
type memory struct {
	mu     sync.RWMutex
	values map[string][]byte
}

// NewMemory is a Store that ends with the process: for a receiver without storage, and for tests. It copies
// what it is given and what it gives. Walk goes in the order of the keys; visit must not change the store.
func NewMemory() Store { return &memory{values: map[string][]byte{}} }

func (m *memory) Get(_ context.Context, key string) ([]byte, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return bytes.Clone(m.values[key]), nil
}

func (m *memory) Set(ctx context.Context, key string, value []byte) error {
	return m.Batch(ctx, Op{Key: key, Value: value})
}

func (m *memory) Delete(ctx context.Context, key string) error {
	return m.Batch(ctx, Op{Key: key})
}

func (m *memory) Batch(_ context.Context, ops ...Op) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, op := range ops {
		if op.Value == nil {
			delete(m.values, op.Key)
			continue
		}
		m.values[op.Key] = bytes.Clone(op.Value)
	}
	return nil
}

func (m *memory) Walk(_ context.Context, visit func(key string, value []byte) error) error {
	m.mu.RLock()
	defer m.mu.RUnlock()
	for _, key := range slices.Sorted(maps.Keys(m.values)) {
		if err := visit(key, m.values[key]); err != nil {
			return err
		}
	}
	return nil
}
