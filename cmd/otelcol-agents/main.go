// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

// Command otelcol-agents is the distribution: a collector for the telemetry of coding agents, and the
// command replay.
package main

import (
	"os"
	"slices"

	"github.com/spf13/cobra"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/provider/envprovider"
	"go.opentelemetry.io/collector/confmap/provider/fileprovider"
	"go.opentelemetry.io/collector/confmap/provider/yamlprovider"
	"go.opentelemetry.io/collector/otelcol"

	"github.com/otelcol-agents/otelcol-agents/internal/replay"
)

const name = "otelcol-agents"

func main() {
	// replay has flags, signals and exit codes of its own.
	if len(os.Args) > 1 && os.Args[1] == "replay" {
		os.Exit(replay.Process(name+" replay", os.Args[2:]))
	}
	go giveBack()
	// What goes wrong has been written by cobra by then.
	if err := run(settings(os.Getenv)); err != nil {
		os.Exit(1)
	}
}

// settings are those of the collector; without --config it takes the embedded configuration. An error says
// why there is none to take, which does not concern who brings one.
func settings(getenv func(string) string) (otelcol.CollectorSettings, error) {
	uris, err := defaultURIs(getenv)
	return otelcol.CollectorSettings{
		BuildInfo: component.BuildInfo{
			Command:     name,
			Description: "OpenTelemetry Collector for coding agents",
			Version:     replay.Version(),
		},
		Factories: components,
		ConfigProviderSettings: otelcol.ConfigProviderSettings{
			ResolverSettings: confmap.ResolverSettings{
				URIs: uris,
				ProviderFactories: []confmap.ProviderFactory{
					envprovider.NewFactory(),
					fileprovider.NewFactory(),
					yamlprovider.NewFactory(),
				},
			},
		},
		ProviderModules: map[string]string{
			"env":  "go.opentelemetry.io/collector/confmap/provider/envprovider " + providersVersion,
			"file": "go.opentelemetry.io/collector/confmap/provider/fileprovider " + providersVersion,
			"yaml": "go.opentelemetry.io/collector/confmap/provider/yamlprovider " + providersVersion,
		},
	}, err
}

// providersVersion is that of builder-config.yaml.
const providersVersion = "v1.71.0"

// command is the stock command of a collector, and replay. With unusable set there is no embedded
// configuration.
func command(set otelcol.CollectorSettings, unusable error) *cobra.Command {
	cmd := otelcol.NewCommand(set)
	cmd.AddCommand(&cobra.Command{
		Use:   "replay [flags] FILE|DIR|-...",
		Short: "Read agent JSONL once, show it and send it",
		// main has taken it before; it stands here for the help.
		DisableFlagParsing: true,
		Run:                func(*cobra.Command, []string) {},
	})
	cmd.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		if config := cmd.Flags().Lookup("config"); config == nil || config.Changed {
			return nil
		}
		return unusable
	}
	uris := slices.Clone(set.ConfigProviderSettings.ResolverSettings.URIs)
	collect := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if cmd.Flags().Changed("config") {
			return collect(cmd, args)
		}
		c, err := readEmbedded(uris)
		if err != nil {
			return err
		}
		if err := tell(os.Stderr, c); err != nil {
			return err
		}
		return locked(collect(cmd, args), c.Extensions.FileStorage.Directory)
	}
	return cmd
}

func runInteractive(set otelcol.CollectorSettings, unusable error) error {
	return command(set, unusable).Execute()
}
