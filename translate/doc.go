// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

// Package translate holds the two units between which all translation happens: a Record is what a
// decoder says about one JSON object of an agent, an Output is what leaves as a span, a log record
// or a step of a metric.
//
// The packages below it are deterministic: no clock, no I/O, no goroutine, no effect of map order.
//
//	detect          which decoder reads a source, from its records
//	claude, …       line → []Record, one package per agent family
//	shell           classification of shell commands
//	price, redact   what a response costs; what a text must not show
//	ids             trace ids, span ids, log record uids
//	session         []Record → []Output: pairing, nesting, segments, tokens and cost
//	otlp            Output → ptrace, plog, pmetric; all names stand in its names.go
package translate
