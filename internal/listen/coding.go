// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package listen

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"go.opentelemetry.io/collector/config/confighttp"
)

// maxWindow is the largest window that a zstd frame may ask for: what encoders take by default. Without
// a limit of its own a frame of a few bytes would cost half a gigabyte, as bodies have no limit here.
const maxWindow = 8 << 20

// codingError says that a body is not what its Content-Encoding says.
type codingError struct {
	coding string
	err    error
}

func (e *codingError) Error() string { return fmt.Sprintf("decode %s: %v", e.coding, e.err) }

func (e *codingError) Unwrap() error { return e.err }

// decoder decodes one body after the other.
type decoder interface {
	io.Reader
	Reset(src io.Reader) error
}

var gzipDecoders = sync.Pool{New: func() any { return new(gzip.Reader) }}

var zstdDecoders = sync.Pool{New: func() any {
	// One goroutine, the caller's: lines are wanted as they come.
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow),
		zstd.WithDecoderMaxMemory(math.MaxInt64))
	if err != nil {
		panic(err) // of constant options
	}
	return d
}}

// decoders are ours for those of the algorithms that we know better than confighttp.
func decoders(algorithms []string) []confighttp.ToServerOption {
	var opts []confighttp.ToServerOption
	for coding, pool := range map[string]*sync.Pool{"gzip": &gzipDecoders, "zstd": &zstdDecoders} {
		if slices.Contains(algorithms, coding) {
			opts = append(opts, confighttp.WithDecoder(coding, func(body io.ReadCloser) (io.ReadCloser, error) {
				return &decodedBody{coding: coding, body: body, pool: pool}, nil
			}))
		}
	}
	return opts
}

// decodedBody decodes a body from its first Read on, so that a request can be refused unread. Errors of
// the body itself come through as they are; others are codingErrors.
type decodedBody struct {
	coding  string
	body    io.ReadCloser
	bodyErr error // of the latest read of body
	pool    *sync.Pool
	decoder decoder
	err     error // sticky
}

func (d *decodedBody) Read(p []byte) (n int, err error) {
	if d.err != nil {
		return 0, d.err
	}
	if d.decoder == nil {
		d.decoder = d.pool.Get().(decoder)
		err = d.decoder.Reset(encoded{d})
	}
	if err == nil {
		n, err = d.decoder.Read(p)
	}
	switch {
	case err == nil, errors.Is(err, io.EOF):
	case d.bodyErr != nil && !errors.Is(d.bodyErr, io.EOF):
		err = d.bodyErr
	default:
		err = &codingError{d.coding, err}
	}
	d.err = err
	return n, err
}

func (d *decodedBody) Close() error {
	if d.decoder != nil {
		_ = d.decoder.Reset(eof{})
		d.pool.Put(d.decoder)
		d.decoder = nil
	}
	if d.err == nil {
		d.err = errClosed
	}
	return d.body.Close()
}

var errClosed = errors.New("read of a closed body")

// encoded is what stands in the body.
type encoded struct{ *decodedBody }

func (e encoded) Read(p []byte) (n int, err error) {
	n, err = e.body.Read(p)
	e.bodyErr = err
	return n, err
}

type eof struct{}

func (eof) Read([]byte) (int, error) { return 0, io.EOF }
