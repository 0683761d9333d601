// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package agentstreamreceiver

import (
	"context"
	"errors"
	"net"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/receivertest"

	"github.com/otelcol-agents/otelcol-agents/receiver/agentstreamreceiver/internal/metadata"
)

// signals are the three ways to make the component.
var signals = map[string]func(context.Context, receiver.Settings, component.Config) (component.Component, error){
	"traces": func(ctx context.Context, set receiver.Settings, cfg component.Config) (component.Component, error) {
		return NewFactory().CreateTraces(ctx, set, cfg, consumertest.NewNop())
	},
	"logs": func(ctx context.Context, set receiver.Settings, cfg component.Config) (component.Component, error) {
		return NewFactory().CreateLogs(ctx, set, cfg, consumertest.NewNop())
	},
	"metrics": func(ctx context.Context, set receiver.Settings, cfg component.Config) (component.Component, error) {
		return NewFactory().CreateMetrics(ctx, set, cfg, consumertest.NewNop())
	},
}

func nopSettings() receiver.Settings { return receivertest.NewNopSettings(metadata.Type) }

func nopConsumers() consumers {
	return consumers{traces: consumertest.NewNop(), logs: consumertest.NewNop(), metrics: consumertest.NewNop()}
}

func sharedInstances() int {
	shared.mu.Lock()
	defer shared.mu.Unlock()
	return len(shared.byConfig)
}

func TestFactory(t *testing.T) {
	f := NewFactory()
	assert.Equal(t, component.MustNewType("agent_stream"), f.Type())
	assert.NotSame(t, f.CreateDefaultConfig(), f.CreateDefaultConfig())
}

func TestLifecycle(t *testing.T) {
	for name, create := range signals {
		cfg := NewFactory().CreateDefaultConfig()
		require.NoError(t, confmap.NewFromStringMap(readMetadata(t).Tests.Config).Unmarshal(cfg))
		require.NoError(t, confmap.Validate(cfg))
		t.Run(name+" without start", func(t *testing.T) {
			c, err := create(t.Context(), nopSettings(), cfg)
			require.NoError(t, err)
			require.NoError(t, c.Shutdown(t.Context()))
			assert.Zero(t, sharedInstances())
		})
		t.Run(name, func(t *testing.T) {
			former := &instance{}
			for range 2 {
				c, err := create(t.Context(), nopSettings(), cfg)
				require.NoError(t, err)
				assert.NotSame(t, former, c, "each start has a receiver of its own")
				require.NoError(t, c.Start(t.Context(), componenttest.NewNopHost()))
				require.NoError(t, c.Shutdown(t.Context()))
				require.NoError(t, c.Shutdown(t.Context()), "twice")
				former = c.(*instance)
			}
			assert.Zero(t, sharedInstances())
		})
	}
}

// TestStartContext shows that the end of the context of Start ends nothing.
func TestStartContext(t *testing.T) {
	r := startRig(t, withTCP(newConfig()), nil)
	ctx, cancel := context.WithCancel(t.Context())
	require.NoError(t, r.in.Start(ctx, r.host))
	cancel()
	r.send(t, stream(t, "plain-run"))
	r.wait(t, "invoke_agent", 1)
}

func TestSharedInstance(t *testing.T) {
	cfg := withTCP(newConfig())
	all := createAll(t, nopSettings(), cfg, nopConsumers())
	assert.Same(t, all[0], all[1])
	assert.Same(t, all[0], all[2])
	assert.Equal(t, 1, sharedInstances())

	other := createAll(t, nopSettings(), withTCP(newConfig()), nopConsumers())
	assert.NotSame(t, all[0], other[0], "an equal configuration of another receiver is another one")
	assert.Equal(t, 2, sharedInstances())

	for _, c := range all {
		require.NoError(t, c.Start(t.Context(), componenttest.NewNopHost()))
	}
	engine := all[0].(*instance).receiver.engine
	for _, c := range all {
		assert.Same(t, engine, c.(*instance).receiver.engine)
	}
	for _, c := range append(all, other...) {
		require.NoError(t, c.Shutdown(t.Context()))
	}
	assert.Zero(t, sharedInstances())
}

// TestOneSignal shows that telemetry of signals without a pipeline is not made.
func TestOneSignal(t *testing.T) {
	for name, create := range signals {
		t.Run(name, func(t *testing.T) {
			c, err := create(t.Context(), nopSettings(), withTCP(newConfig()))
			require.NoError(t, err)
			require.NoError(t, c.Start(t.Context(), componenttest.NewNopHost()))
			sink := c.(*instance).receiver.next
			assert.Equal(t, name == "traces", sink.traces != nil)
			assert.Equal(t, name == "logs", sink.logs != nil)
			assert.Equal(t, name == "metrics", sink.metrics != nil)
			r := &rig{in: c.(*instance)}
			r.send(t, stream(t, "plain-run"))
			require.NoError(t, c.Shutdown(t.Context()))
		})
	}
}

func TestStartFails(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	for name, cfg := range map[string]*Config{
		"tcp":  withFiles(withHTTP(withTCP(newConfig())), t.TempDir()+"/*.jsonl"),
		"http": withFiles(withHTTP(withTCP(newConfig())), t.TempDir()+"/*.jsonl"),
	} {
		t.Run(name, func(t *testing.T) {
			if name == "tcp" {
				cfg.TCP.Get().Address.Endpoint = taken.Addr().String()
			} else {
				cfg.HTTP.Get().ServerConfig.NetAddr.Endpoint = taken.Addr().String()
			}
			all := createAll(t, nopSettings(), cfg, nopConsumers())
			first := all[0].Start(t.Context(), componenttest.NewNopHost())
			require.ErrorContains(t, first, taken.Addr().String())
			for _, c := range all[1:] {
				assert.Equal(t, first, c.Start(t.Context(), componenttest.NewNopHost()), "all signals tell the same")
			}
			for _, c := range all {
				require.NoError(t, c.Shutdown(t.Context()), "a collector shuts down what did not start")
			}
			assert.Zero(t, sharedInstances())
		})
	}
	t.Run("certificate", func(t *testing.T) {
		cfg := withTCP(newConfig())
		tls := cfg.TCP.Get().TLS.GetOrInsertDefault()
		tls.CertFile, tls.KeyFile = "none.crt", "none.key"
		c, err := NewFactory().CreateTraces(t.Context(), nopSettings(), cfg, consumertest.NewNop())
		require.NoError(t, err)
		require.ErrorContains(t, c.Start(t.Context(), componenttest.NewNopHost()), "TLS")
		require.NoError(t, c.Shutdown(t.Context()))
	})
	t.Run("again", func(t *testing.T) {
		cfg := withTCP(newConfig())
		cfg.TCP.Get().Address.Endpoint = taken.Addr().String()
		c, err := NewFactory().CreateTraces(t.Context(), nopSettings(), cfg, consumertest.NewNop())
		require.NoError(t, err)
		require.Error(t, c.Start(t.Context(), componenttest.NewNopHost()))
		require.NoError(t, c.Shutdown(t.Context()))
		require.NoError(t, taken.Close())
		c, err = NewFactory().CreateTraces(t.Context(), nopSettings(), cfg, consumertest.NewNop())
		require.NoError(t, err)
		require.NoError(t, c.Start(t.Context(), componenttest.NewNopHost()), "the port is free now")
		require.NoError(t, c.Shutdown(t.Context()))
	})
}

// TestStatus shows that every pipeline hears of trouble and of its end, also one that starts late.
func TestStatus(t *testing.T) {
	hosts := []*statusHost{{}, {}, {}}
	all := createAll(t, nopSettings(), withTCP(newConfig()), nopConsumers())
	in := all[0].(*instance)
	require.NoError(t, all[0].Start(t.Context(), hosts[0]))
	require.NoError(t, all[1].Start(t.Context(), hosts[1]))
	in.report(componentstatus.NewRecoverableErrorEvent(errors.New("away")))
	require.NoError(t, all[2].Start(t.Context(), hosts[2]))
	in.report(componentstatus.NewEvent(componentstatus.StatusOK))
	for _, h := range hosts {
		assert.Equal(t, []componentstatus.Status{componentstatus.StatusRecoverableError, componentstatus.StatusOK}, h.statuses())
	}
	require.NoError(t, in.Shutdown(t.Context()))
}
