// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// script answers requests one after the other; the last answer stays.
type script []func(http.ResponseWriter)

func status(code int, headers ...string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(code)
	}
}

func answer(kind, body string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", kind)
		_, _ = io.WriteString(w, body)
	}
}

// sending is a sender against a script, with a clock of its own that moves when the sender waits.
type sending struct {
	*sender
	bodies int
	waits  []time.Duration
	told   []string
	clock  time.Time
}

func newSending(t *testing.T, live bool, answers script) *sending {
	x := &sending{clock: time.Date(2026, 11, 1, 10, 0, 0, 0, time.UTC)}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		answers[min(x.bodies, len(answers)-1)](w)
		x.bodies++
	}))
	t.Cleanup(server.Close)
	s := &settings{to: server.URL, timeout: time.Minute, header: http.Header{}}
	x.sender = newSender(s, live, func(err error) { x.told = append(x.told, err.Error()) })
	t.Cleanup(x.close)
	x.now = func() time.Time { return x.clock }
	x.wait = func(ctx context.Context, d time.Duration) error {
		x.waits = append(x.waits, d)
		x.clock = x.clock.Add(d)
		return ctx.Err()
	}
	return x
}

func TestSend(t *testing.T) {
	ok := status(200)
	for name, tc := range map[string]struct {
		answers script
		bodies  int
		want    sent
		told    string
	}{
		"accepted":       {script{ok}, 1, sent{Accepted: 7}, ""},
		"202 is fine":    {script{status(202)}, 1, sent{Accepted: 7}, ""},
		"429 then 200":   {script{status(429), ok}, 2, sent{Accepted: 7}, ""},
		"502, 503, 504":  {script{status(502), status(503), status(504), ok}, 4, sent{Accepted: 7}, ""},
		"400":            {script{status(400), ok}, 1, sent{Refused: 7}, "7 spans refused: status 400 Bad Request"},
		"500":            {script{status(500), ok}, 1, sent{Refused: 7}, "status 500"},
		"redirect":       {script{status(302, "Location", "/elsewhere"), ok}, 1, sent{Refused: 7}, "status 302"},
		"always 503":     {script{status(503)}, -1, sent{Unsent: 7}, "gave up after"},
		"JSON rejection": {script{answer("application/json; charset=utf-8", `{"partialSuccess":{"rejectedSpans":2,"errorMessage":"old"}}`)}, 1, sent{Accepted: 5, Rejected: 2}, "2 of 7 spans rejected: old"},
		"protobuf rejection": {
			script{answer("application/x-protobuf", "\x0a\x07\x08\x02\x12\x03old")}, 1, sent{Accepted: 5, Rejected: 2}, "2 of 7 spans rejected: old",
		},
		"absurd rejection": {script{answer("application/json", `{"partialSuccess":{"rejectedSpans":"900"}}`)}, 1, sent{Rejected: 7}, "7 of 7"},
		"broken answer":    {script{answer("application/json", `{"partial`)}, 1, sent{Accepted: 7}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			x := newSending(t, false, tc.answers)
			x.send(t.Context(), traces, []byte("body"), 7)
			assert.Equal(t, tc.want, x.counts[traces])
			if tc.bodies >= 0 {
				assert.Equal(t, tc.bodies, x.bodies)
			}
			if tc.told == "" {
				assert.Empty(t, x.told)
			} else {
				require.Len(t, x.told, 1)
				assert.Contains(t, x.told[0], tc.told)
			}
			assert.Equal(t, tc.want.failed() > 0, x.failed())
		})
	}
}

func TestBackoffGrowsAndHasJitter(t *testing.T) {
	x := newSending(t, false, script{status(503)})
	x.send(t.Context(), logs, []byte("body"), 1)
	require.Greater(t, len(x.waits), 6)
	step := firstBackoff
	left := time.Minute
	for _, d := range x.waits {
		if d < step/2 {
			assert.Equal(t, left*3/4, d, "only the end of the time shortens a pause")
		}
		left -= d
		assert.LessOrEqual(t, d, step)
		step = min(2*step, maxBackoff)
	}
	assert.Less(t, x.clock.Sub(time.Date(2026, 11, 1, 10, 0, 0, 0, time.UTC)), time.Minute)
}

func TestRetryAfter(t *testing.T) {
	at := time.Date(2026, 11, 1, 10, 0, 30, 0, time.UTC).Format(http.TimeFormat)
	x := newSending(t, false, script{status(503, "Retry-After", "7"), status(429, "Retry-After", at), status(200)})
	x.send(t.Context(), logs, []byte("body"), 1)
	assert.Equal(t, []time.Duration{7 * time.Second, 23 * time.Second}, x.waits)
	assert.Equal(t, sent{Accepted: 1}, x.counts[logs])

	x = newSending(t, false, script{status(503, "Retry-After", "3600")})
	x.send(t.Context(), logs, []byte("body"), 1)
	assert.Empty(t, x.waits, "a pause beyond the timeout is not begun")
	assert.Equal(t, sent{Unsent: 1}, x.counts[logs])
}

func TestGivenUp(t *testing.T) {
	x := newSending(t, false, script{status(503)})
	x.send(t.Context(), traces, []byte("a"), 1)
	n := x.bodies
	x.clock = x.clock.Add(time.Hour)
	x.send(t.Context(), traces, []byte("b"), 1)
	assert.Equal(t, n, x.bodies, "files are not tried again")
	assert.Equal(t, sent{Unsent: 2}, x.counts[traces])
	assert.Len(t, x.told, 1)
}

func TestLiveGoesOnTrying(t *testing.T) {
	up := false
	x := newSending(t, true, script{func(w http.ResponseWriter) {
		if !up {
			w.WriteHeader(503)
		}
	}})
	x.send(t.Context(), traces, []byte("a"), 1)
	n := x.bodies
	x.send(t.Context(), traces, []byte("b"), 1)
	assert.Equal(t, n, x.bodies, "at once after giving up")
	x.clock = x.clock.Add(liveProbe)
	x.send(t.Context(), traces, []byte("c"), 1)
	assert.Equal(t, n+1, x.bodies, "one attempt without a retry")
	x.clock = x.clock.Add(liveProbe)
	up = true
	x.send(t.Context(), traces, []byte("d"), 1)
	x.send(t.Context(), traces, []byte("e"), 1)
	assert.Equal(t, sent{Accepted: 2, Unsent: 3}, x.counts[traces])
	assert.Len(t, x.told, 1)
}

func TestInterruptedWait(t *testing.T) {
	x := newSending(t, false, script{status(503)})
	x.wait = func(context.Context, time.Duration) error { return errors.New("stop") }
	x.send(t.Context(), traces, []byte("a"), 1)
	assert.Equal(t, 1, x.bodies)
	assert.Equal(t, sent{Unsent: 1}, x.counts[traces])
}

func TestPasswordsAreNotShown(t *testing.T) {
	s := newSender(&settings{to: "https://me:hidden@example.org:4318", timeout: time.Second}, false, func(error) {})
	defer s.close()
	assert.NotContains(t, s.shown(), "hidden")
}

func TestServerMessages(t *testing.T) {
	assert.Equal(t, "no such tenant", serverMessage("application/json", []byte(`{"code":3,"message":"no such tenant"}`)))
	assert.Equal(t, "no", serverMessage("application/x-protobuf", []byte("\x08\x03\x12\x02no")))
	assert.Equal(t, "a b", serverMessage("text/plain; charset=utf-8", []byte("a\n\x1b b\n")))
	assert.Empty(t, serverMessage("text/html", []byte("<html>")))
	assert.Empty(t, serverMessage("application/json", []byte("{")))
	long := serverMessage("text/plain", []byte(strings.Repeat("é", 500)))
	assert.LessOrEqual(t, len(long), maxMessage+len("…"))
	assert.True(t, strings.HasSuffix(long, "é…"))
}

func FuzzAnswers(f *testing.F) {
	f.Add("application/x-protobuf", []byte("\x0a\x07\x08\x02\x12\x03old"))
	f.Add("application/json", []byte(`{"partialSuccess":{"rejectedSpans":2}}`))
	f.Add("text/plain", []byte("\xff\xfe"))
	f.Fuzz(func(t *testing.T, kind string, body []byte) {
		_, message := partialSuccess(kind, body)
		for _, text := range []string{message, serverMessage(kind, body)} {
			assert.LessOrEqual(t, len(text), maxMessage+len("…"))
			assert.NotContains(t, text, "\n")
		}
	})
}
