// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package agentstreamreceiver // import "github.com/otelcol-agents/otelcol-agents/receiver/agentstreamreceiver"

import (
	"errors"
	"fmt"
	"net"
	"reflect"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/confighttp"
	"go.opentelemetry.io/collector/config/confignet"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/config/configtls"
	"go.opentelemetry.io/collector/confmap"

	"github.com/otelcol-agents/otelcol-agents/internal/listen"
	"github.com/otelcol-agents/otelcol-agents/internal/options"
	"github.com/otelcol-agents/otelcol-agents/internal/tail"
)

// Config is the section agent_stream. At least one of Files, TCP and HTTP must be set.
type Config struct {
	// Options is how input is understood and what of it leaves.
	Options options.Config `mapstructure:",squash"`
	// Files are read and followed. Absent: none are.
	Files configoptional.Optional[FilesConfig] `mapstructure:"files"`
	// TCP listens for newline-delimited JSON. Absent: it does not.
	TCP configoptional.Optional[TCPConfig] `mapstructure:"tcp"`
	// HTTP listens for POST /v1/agentstream. Absent: it does not.
	HTTP configoptional.Optional[HTTPConfig] `mapstructure:"http"`
	// Storage is the storage extension that keeps progress, ledger and totals. Absent: nothing outlives the
	// process.
	Storage *component.ID `mapstructure:"storage"`

	_ struct{}
}

// FilesConfig says which files are read.
type FilesConfig struct {
	// Include are globs; ** crosses directories, a leading ~ is the user's home.
	Include []string `mapstructure:"include"`
	// Exclude are globs of files that Include would take.
	Exclude []string `mapstructure:"exclude"`
	// StartAt is where files are read from that are there at the start: "beginning" or "end". Later ones
	// are read from their beginning.
	StartAt string `mapstructure:"start_at"`
	// PollInterval is the time between two looks at a file that grows.
	PollInterval time.Duration `mapstructure:"poll_interval"`
	// MaxAge is the age from which records are read for state only: no span, log or metric comes of them.
	// Zero: no limit.
	MaxAge time.Duration `mapstructure:"max_age"`

	_ struct{}
}

// Values of files.start_at.
const (
	StartAtBeginning = "beginning"
	StartAtEnd       = "end"
)

// NewDefaultFilesConfig returns the defaults of the section "files".
func NewDefaultFilesConfig() FilesConfig {
	return FilesConfig{StartAt: StartAtEnd, PollInterval: 250 * time.Millisecond}
}

// TCPConfig is the section "tcp".
type TCPConfig struct {
	// Address is where to listen.
	Address confignet.TCPAddrConfig `mapstructure:",squash"`
	// MaxConnections bounds the connections that are served at once; more wait in the backlog.
	MaxConnections int `mapstructure:"max_connections"`
	// IdleTimeout closes a connection that completes no line for so long.
	IdleTimeout time.Duration `mapstructure:"idle_timeout"`
	// TLS is the server's side of TLS; client_ca_file demands client certificates. Absent or empty: plain TCP.
	TLS configoptional.Optional[configtls.ServerConfig] `mapstructure:"tls"`

	_ struct{}
}

// NewDefaultTCPConfig returns the defaults of the section "tcp".
func NewDefaultTCPConfig() TCPConfig {
	address := confignet.NewDefaultTCPAddrConfig()
	address.Endpoint = "localhost:4319"
	return TCPConfig{
		Address:        address,
		MaxConnections: 100,
		IdleTimeout:    5 * time.Minute,
		TLS:            configoptional.Default(configtls.NewDefaultServerConfig()),
	}
}

var _ confmap.Unmarshaler = (*TCPConfig)(nil)

// Unmarshal takes an empty section "tls" for none: it asks for nothing, and configtls would refuse it.
func (c *TCPConfig) Unmarshal(conf *confmap.Conf) error {
	if err := conf.Unmarshal(c); err != nil {
		return err
	}
	if none := configtls.NewDefaultServerConfig(); c.TLS.HasValue() && reflect.DeepEqual(*c.TLS.Get(), none) {
		c.TLS = configoptional.Default(none)
	}
	return nil
}

// HTTPConfig is the section "http".
type HTTPConfig struct {
	// ServerConfig is the server's. A max_request_body_size of 0 is no limit, as bodies may be endless.
	ServerConfig confighttp.ServerConfig `mapstructure:",squash"`
	// BaggageAttributes are the baggage members that become attributes of session roots.
	BaggageAttributes []string `mapstructure:"baggage_attributes"`

	_ struct{}
}

// NewDefaultHTTPConfig returns the defaults of the section "http".
func NewDefaultHTTPConfig() HTTPConfig {
	return HTTPConfig{ServerConfig: listen.NewDefaultServerConfig()}
}

func createDefaultConfig() component.Config {
	return &Config{
		Options: options.NewDefaultConfig(),
		Files:   configoptional.Default(NewDefaultFilesConfig()),
		TCP:     configoptional.Default(NewDefaultTCPConfig()),
		HTTP:    configoptional.Default(NewDefaultHTTPConfig()),
	}
}

var _ confmap.Validator = (*Config)(nil)

// Validate reports every problem, each by its key and rule.
func (c *Config) Validate() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	check(c.Files.HasValue() || c.TCP.HasValue() || c.HTTP.HasValue(),
		"at least one of files, tcp and http must be set")
	errs = append(errs, c.Options.Check())
	if c.Files.HasValue() {
		errs = append(errs, c.Files.Get().check())
	}
	if c.TCP.HasValue() {
		errs = append(errs, c.TCP.Get().check())
	}
	if c.HTTP.HasValue() {
		errs = append(errs, c.HTTP.Get().check())
	}
	if c.TCP.HasValue() && c.HTTP.HasValue() {
		tcp, http := c.TCP.Get().Address.Endpoint, c.HTTP.Get().ServerConfig.NetAddr.Endpoint
		_, port, _ := net.SplitHostPort(tcp)
		check(tcp != http || port == "0", "tcp.endpoint and http.endpoint must differ, got %q for both", tcp)
	}
	check(c.Storage == nil || *c.Storage != component.ID{}, "storage must be the id of a storage extension, got an empty one")
	return errors.Join(errs...)
}

func (c *FilesConfig) check() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	check(len(c.Include) > 0, "files.include must name at least one glob")
	globs := func(key string, list []string) {
		for _, glob := range list {
			if err := tail.CheckGlob(glob); err != nil {
				check(false, "files.%s must be globs, got %q: %w", key, glob, err)
			}
		}
	}
	globs("include", c.Include)
	globs("exclude", c.Exclude)
	check(c.StartAt == StartAtBeginning || c.StartAt == StartAtEnd,
		`files.start_at must be "beginning" or "end", got %q`, c.StartAt)
	check(c.PollInterval >= time.Millisecond, "files.poll_interval must be at least 1ms, got %s", c.PollInterval)
	check(c.MaxAge >= 0, "files.max_age must not be negative, got %s", c.MaxAge)
	return errors.Join(errs...)
}

func (c *TCPConfig) check() error {
	var errs []error
	if err := checkEndpoint(c.Address.Endpoint); err != nil {
		errs = append(errs, fmt.Errorf("tcp.endpoint must be host:port, got %q: %w", c.Address.Endpoint, err))
	}
	if c.MaxConnections < 1 {
		errs = append(errs, fmt.Errorf("tcp.max_connections must be at least 1, got %d", c.MaxConnections))
	}
	if c.IdleTimeout <= 0 {
		errs = append(errs, fmt.Errorf("tcp.idle_timeout must be positive, got %s", c.IdleTimeout))
	}
	return errors.Join(errs...)
}

func (c *HTTPConfig) check() error {
	var errs []error
	if c.ServerConfig.NetAddr.Transport == confignet.TransportTypeTCP {
		if err := checkEndpoint(c.ServerConfig.NetAddr.Endpoint); err != nil {
			errs = append(errs, fmt.Errorf("http.endpoint must be host:port, got %q: %w", c.ServerConfig.NetAddr.Endpoint, err))
		}
	}
	for _, name := range c.BaggageAttributes {
		if name == "" {
			errs = append(errs, errors.New("http.baggage_attributes must have no empty name"))
		}
	}
	return errors.Join(errs...)
}

func checkEndpoint(endpoint string) error {
	_, port, err := net.SplitHostPort(endpoint)
	if err != nil {
		if addr, ok := errors.AsType[*net.AddrError](err); ok {
			return errors.New(addr.Err)
		}
		return err
	}
	if port == "" {
		return errors.New("missing port in address")
	}
	return nil
}
