// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

// Package torture kills the real collector at random moments and compares what a backend got with what an
// undisturbed collector sent of the same input.
//
// The package holds the instruments: a backend that records everything and can misbehave, the comparison of two
// recordings, a load of growing files and of clients that repeat themselves, and a collector process. Its tests are
// the laboratory; "make torture" is the long version.
//
// The load has three lanes, each fed into a receiver of its own whose resource attribute [LaneKey] marks what comes
// from it, since they promise different things:
//
//   - [Exact]: files, and HTTP requests repeated until they are answered. Every record carries its time, so that
//     ids, content and counters must be those of the undisturbed run.
//   - [Untimed]: the same with records that have no times, which get the time of their arrival or of their file. Two
//     runs cannot agree on it, so times, and what is made of times alone, are left out of the comparison.
//   - [Lossy]: TCP. What the process had not read or not yet journalled when it was killed is gone, and a connection
//     that broke cuts its session. What arrives must be part of the undisturbed run, each unit once.
package torture
