// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"github.com/otelcol-agents/otelcol-agents/internal/ledger"
	"github.com/otelcol-agents/otelcol-agents/internal/voice"
	"github.com/otelcol-agents/otelcol-agents/translate"
	"github.com/otelcol-agents/otelcol-agents/translate/session"
)

// origin is one source as the fold knows it: a file in one of its epochs, a connection, a request. It is
// the fold's.
type origin struct {
	voices *voice.Voices
	file   ledger.File // what is stored of a file; its ID is 0 for others
	// format and agent are what the first lines decided.
	format translate.Format
	agent  string
	// again says that it is being folded again, up to where it was.
	again bool
	// ended says that nothing more comes, and that it cannot be read again.
	ended   bool
	known   int           // of the voices' sources, those that are in folder.sources
	diary   *diary        // of a live source whose rows are journalled
	request bool          // such a source was a request
	input   func() *Input // who brings more; nil result: nobody now
}

// behind reports whether rows of it are still on their way.
func (o *origin) behind() bool {
	if o.again {
		return true
	}
	in := o.input()
	return in != nil && in.behind()
}

// origin is the input's; it is made where nothing of it was folded before.
func (f *folder) origin(in *Input) *origin {
	if in.origin != nil {
		return in.origin
	}
	o := &origin{format: in.judge.Format(), agent: in.judge.Agent(), input: func() *Input { return in }}
	if id := in.source.File; id != 0 {
		o.file = ledger.File{Progress: ledger.Progress{ID: id, Epoch: in.source.Epoch}, Format: o.format, Agent: o.agent}
		f.files[id] = o
		delete(f.failed, id) // it is another one now
	}
	o.voices = f.voices(o, in.source, in.modified())
	in.origin = o
	return o
}

// reopened is the origin of a file that is folded again.
func (f *folder) reopened(rec ledger.File) *origin {
	e := f.e
	return &origin{file: rec, format: rec.Format, agent: rec.Agent, again: true, input: func() *Input { return e.inputOf(rec.ID) }}
}

func (f *folder) voices(o *origin, src Source, modTime int64) *voice.Voices {
	opts := &f.e.options.Batch
	return voice.New(f.sessions, voice.Input{
		Info: session.SourceInfo{
			Format: o.format, Agent: o.agent, ModTime: modTime,
			Live: src.Live, Caller: src.Caller, Behind: o.behind,
		},
		Fixed:   opts.Fixed != nil,
		Decoder: opts.Decoder,
	})
}

// note keeps track of the sources that an origin of a file has opened, and of the sessions that they feed.
func (f *folder) note(o *origin) {
	if o.file.ID == 0 || o.voices == nil {
		return
	}
	sources := o.voices.Sources()
	for ; o.known < len(sources); o.known++ {
		f.sources[sources[o.known]] = o
	}
	o.file.Format, o.file.Agent = o.format, o.agent
	var keys []uint64
	for _, s := range sources {
		keys = append(keys, s.Sessions()...)
	}
	o.file.Sessions = keys
}
