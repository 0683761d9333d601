// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package agentstreamreceiver // import "github.com/otelcol-agents/otelcol-agents/receiver/agentstreamreceiver"

import (
	"context"
	"slices"
	"sync"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/receiver"
)

// shared are the receivers that have not been shut down, by their configuration.
var shared = registry{byConfig: map[*Config]*instance{}}

type registry struct {
	mu       sync.Mutex
	byConfig map[*Config]*instance
}

// get gives the instance of a configuration, and has it take part in one more pipeline.
func (r *registry) get(cfg *Config, set receiver.Settings, join func(*consumers)) (*instance, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := r.byConfig[cfg]
	if i == nil {
		rcv, err := newReceiver(cfg, set)
		if err != nil {
			return nil, err
		}
		i = &instance{receiver: rcv, forget: func() { r.forget(cfg) }}
		rcv.status = i.report
		r.byConfig[cfg] = i
	}
	join(&i.receiver.next)
	return i, nil
}

func (r *registry) forget(cfg *Config) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.byConfig, cfg)
}

// instance is one receiver in up to three pipelines: each starts and stops it, the first one does.
type instance struct {
	receiver *agentStream
	forget   func()

	start    sync.Once
	startErr error
	stop     sync.Once
	stopErr  error

	mu     sync.Mutex
	hosts  []component.Host
	latest *componentstatus.Event
}

var _ receiver.Traces = (*instance)(nil)

// Start implements component.Component.
func (i *instance) Start(ctx context.Context, host component.Host) error {
	i.join(host)
	i.start.Do(func() { i.startErr = i.receiver.start(ctx, host) })
	return i.startErr
}

// Shutdown implements component.Component.
func (i *instance) Shutdown(ctx context.Context) error {
	i.stop.Do(func() {
		i.stopErr = i.receiver.shutdown(ctx)
		i.forget()
	})
	return i.stopErr
}

// join adds a pipeline's host, which hears what the others heard last.
func (i *instance) join(host component.Host) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.hosts = append(i.hosts, host)
	if i.latest != nil {
		componentstatus.ReportStatus(host, i.latest)
	}
}

// report tells the status to every pipeline.
func (i *instance) report(event *componentstatus.Event) {
	i.mu.Lock()
	i.latest = event
	hosts := slices.Clone(i.hosts)
	i.mu.Unlock()
	for _, host := range hosts {
		componentstatus.ReportStatus(host, event)
	}
}
