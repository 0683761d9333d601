// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

// Package crash is the laboratory in which the engine is killed: it has tests only.
//
// A lab is a process that reads real files, requests and connections, in virtual time; below it is a disk that
// outlives it, behind it a backend that keeps everything. A process that is killed has no effect from that moment
// on: its store and its backend refuse. Tests say what is written and where it is killed, and are run twice: as they
// are, and with nobody killed. Both must send the same.
package crash
