// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	_ "embed"
	"fmt"
	"io"
	"net/url"
	"runtime"
	"strings"

	"go.yaml.in/yaml/v3"
)

// defaultConfig is what runs without --config.
//
//go:embed default.yaml
var defaultConfig string

// The variables of the OpenTelemetry specification that the embedded configuration follows.
const (
	envEndpoint = "OTEL_EXPORTER_OTLP_ENDPOINT"
	envHeaders  = "OTEL_EXPORTER_OTLP_HEADERS"
	envProtocol = "OTEL_EXPORTER_OTLP_PROTOCOL"
)

// defaultURIs are the embedded configuration with the place of its state and, when an OTLP endpoint is set,
// what sends there as well.
func defaultURIs(getenv func(string) string) ([]string, error) {
	uris := []string{"yaml:" + defaultConfig}
	dir, err := stateDirectory(runtime.GOOS, getenv)
	if err != nil {
		return nil, err
	}
	state, err := stateConfig(dir)
	if err != nil {
		return nil, err
	}
	uris = append(uris, "yaml:"+state)
	endpoint := getenv(envEndpoint)
	if endpoint == "" {
		return uris, nil
	}
	headers, err := parseHeaders(getenv(envHeaders))
	if err != nil {
		return nil, err
	}
	more, err := otlpConfig(endpoint, headers, getenv(envProtocol))
	return append(uris, "yaml:"+more), err
}

// parseHeaders reads OTEL_EXPORTER_OTLP_HEADERS: k=v, more after commas, values percent-encoded. Values
// are secrets, so errors do not show them.
func parseHeaders(text string) (map[string]string, error) {
	headers := map[string]string{}
	for i, pair := range strings.Split(text, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		key, value, ok := strings.Cut(pair, "=")
		decoded, err := url.PathUnescape(strings.TrimSpace(value))
		if key = strings.TrimSpace(key); !ok || key == "" || err != nil {
			return nil, fmt.Errorf("%s must be key=value pairs with commas between them, and number %d is none", envHeaders, i+1)
		}
		headers[key] = decoded
	}
	return headers, nil
}

// otlpConfig is laid over the embedded configuration. The exporter has no queue: one in memory would end with
// the process, one on disk can lose requests when the process is killed while it starts, and what is not
// accepted stays in the files and in the receiver's journal anyway.
//
// The exporter tries for a minute by itself, and only then says no: each refusal that the receiver sees has
// it hand the same data to the console and to Prometheus again. It has to see some: it answers requests with
// 503 from then on, and the series that Prometheus reads would expire if they did not come again.
func otlpConfig(endpoint string, headers map[string]string, protocol string) (string, error) {
	exporter := map[string]any{
		"endpoint":         endpoint,
		"sending_queue":    map[string]any{"enabled": false},
		"retry_on_failure": map[string]any{"max_elapsed_time": "1m"},
	}
	if len(headers) > 0 {
		exporter["headers"] = headers
	}
	kind := "otlp_http"
	switch protocol {
	case "", "http/protobuf":
	case "http/json":
		exporter["encoding"] = "json"
	case "grpc":
		kind = "otlp_grpc"
		exporter["tls"] = map[string]any{"insecure": !strings.HasPrefix(endpoint, "https://")}
	default:
		return "", fmt.Errorf("%s must be http/protobuf, http/json or grpc, got %q", envProtocol, protocol)
	}
	pipeline := func(first string) map[string]any { return map[string]any{"exporters": []string{first, kind}} }
	config, err := yaml.Marshal(map[string]any{
		"exporters": map[string]any{kind: exporter},
		"service": map[string]any{"pipelines": map[string]any{
			"traces": pipeline("debug"), "logs": pipeline("debug"), "metrics": pipeline("prometheus"),
		}},
	})
	if err != nil {
		return "", fmt.Errorf("write the configuration of %s: %w", kind, err)
	}
	return literal(string(config)), nil
}

// embedded is the part of the embedded configuration that its users want to know.
type embedded struct {
	Receivers struct {
		AgentStream struct {
			Files struct {
				Include []string `yaml:"include"`
			} `yaml:"files"`
			TCP, HTTP endpoint
		} `yaml:"agent_stream"`
	} `yaml:"receivers"`
	Extensions struct {
		FileStorage struct {
			Directory string `yaml:"directory"`
		} `yaml:"file_storage"`
	} `yaml:"extensions"`
	Exporters struct {
		Prometheus endpoint  `yaml:"prometheus"`
		OTLPHTTP   *endpoint `yaml:"otlp_http"`
		OTLPGRPC   *endpoint `yaml:"otlp_grpc"`
	} `yaml:"exporters"`
}

type endpoint struct {
	Endpoint string `yaml:"endpoint"`
}

// readEmbedded reads what the collector is going to.
func readEmbedded(uris []string) (*embedded, error) {
	var c embedded
	for _, uri := range uris {
		text := strings.ReplaceAll(strings.TrimPrefix(uri, "yaml:"), "$$", "$")
		if err := yaml.Unmarshal([]byte(text), &c); err != nil {
			return nil, fmt.Errorf("read the embedded configuration: %w", err)
		}
	}
	return &c, nil
}

// tell says what the embedded configuration watches, where it listens, where it keeps its progress and where
// it sends.
func tell(w io.Writer, c *embedded) error {
	r := &c.Receivers.AgentStream
	sends := "nowhere else; set " + envEndpoint + " to send all three signals there"
	for _, e := range []*endpoint{c.Exporters.OTLPHTTP, c.Exporters.OTLPGRPC} {
		if e != nil {
			sends = shown(e.Endpoint)
		}
	}
	_, err := fmt.Fprintf(w, `otelcol-agents runs with its embedded configuration (see --config, print-config)
  watches   %s, what is written from the first start on
  listens   on %s for lines over TCP: claude -p ... --output-format stream-json --verbose | nc -N %s
            (-N ends it with the stream, where nc knows that; macOS ends it without)
            on http://%s/v1/agentstream for POST requests
  keeps     its progress in %s
  shows     spans and log records here, metrics at http://%s/metrics
  sends     %s
`, strings.Join(r.Files.Include, ", "), r.TCP.Endpoint, strings.ReplaceAll(r.TCP.Endpoint, ":", " "), r.HTTP.Endpoint,
		c.Extensions.FileStorage.Directory, c.Exporters.Prometheus.Endpoint, sends)
	return err
}

// shown is an endpoint without a password in it.
func shown(endpoint string) string {
	if u, err := url.Parse(endpoint); err == nil {
		return u.Redacted()
	}
	return "the endpoint of " + envEndpoint
}
