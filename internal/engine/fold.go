// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"time"

	"github.com/otelcol-agents/otelcol-agents/internal/ledger"
	"github.com/otelcol-agents/otelcol-agents/translate/session"
)

// folder is the state of the fold. One goroutine owns it.
type folder struct {
	e        *Engine
	sessions *session.Assembler
	ledger   *ledger.Ledger
	clock    clock
	number   int64 // of the latest parcel
	ticked   int64 // commits at the last tick
	swept    int64 // when the ledger was swept last, by the clock
	tidied   int64 // when closed sessions were let go last, by the clock

	// files has the origin of every file of which all that was read is folded, and sources leads from the
	// sessions' sources to them.
	files   map[ledger.FileID]*origin
	sources map[*session.Source]*origin
	// stamps has the number of the latest parcel of each session in memory.
	stamps map[uint64]int64
	// asleep has the open sessions that are not in memory, and when they are due.
	asleep map[uint64]int64
	// dismissed has the sessions that were closed to make room although more of them may come.
	dismissed map[uint64]bool

	loading    bool // a load is being read
	queue      []*load
	coming     map[ledger.FileID]bool // files of loads
	rebuilding map[uint64]bool        // sessions of loads
	failed     map[ledger.FileID]bool // files that could not be read again
	lost       []session.Change       // sessions that cannot come back
	reborn     []uint64               // sessions that came back without a load
	waiting    []*Input               // inputs that wait for a load
	diaries    diaries
	early      bool                     // the journal is still to be folded: everything else waits
	recovering bool                     // the journal is folded
	ops        []ledger.Op              // to be stored with the next parcel
	damaged    int                      // values that could not be read, as far as that was told
	froms      map[uint64]session.State // what sessions of the journal go on from, while that is folded
	resident   int                      // sessions that may stay in memory
}

func (e *Engine) newFolder() *folder {
	f := &folder{
		e: e, ledger: e.options.Ledger,
		files: map[ledger.FileID]*origin{}, sources: map[*session.Source]*origin{}, stamps: map[uint64]int64{},
		asleep: map[uint64]int64{}, dismissed: map[uint64]bool{}, coming: map[ledger.FileID]bool{},
		rebuilding: map[uint64]bool{}, failed: map[ledger.FileID]bool{}, froms: map[uint64]session.State{},
		diaries: newDiaries(),
	}
	cfg := e.options.Session
	f.resident = cfg.MaxSessions
	// What is in use cannot be let go at once; this is where it is closed instead.
	cfg.MaxSessions += max(cfg.MaxSessions/4, 1024)
	cfg.Recall = f.recall
	f.sessions = session.New(cfg)
	for entry := range f.ledger.Entries() {
		f.sessions.Learn(entry)
	}
	f.clock.start(e.options.Batch.Now())
	return f
}

// run is the fold. Its inputs are items and ticks.
func (f *folder) run() {
	e := f.e
	defer close(e.parcels)
	defer close(e.loads)
	f.sessions.At(f.clock.at)
	f.recover()
	tick := time.NewTicker(tickInterval)
	defer tick.Stop()
	for {
		select {
		case it := <-e.items:
			f.item(it)
		case <-tick.C:
			f.due()
		case <-e.ending:
			f.rest()
			return
		}
	}
}

// rest folds what inputs handed over before they ended. Sessions whose rows can be read again stay open.
func (f *folder) rest() {
	if !f.e.options.Durable {
		f.wake(1<<63 - 1)
	}
	for {
		select {
		case it := <-f.e.items:
			f.item(it)
			continue
		default:
		}
		if !f.loading {
			break
		}
		select {
		case it := <-f.e.items:
			f.item(it)
		case <-f.e.running.Done():
			return // what waits is not committed
		}
	}
	if !f.e.options.Durable {
		f.sessions.Close()
		f.hand(nil, nil)
	}
}

func (f *folder) item(it item) {
	f.sessions.At(f.clock.at)
	switch in := it.input; {
	case it.load != nil && it.origin != nil:
		f.readAgain(it.origin, it.err)
	case it.load != nil:
		f.loaded(it.load)
	case it.origin != nil:
		f.foldAgain(it)
	case len(in.parked) > 0:
		in.parked = append(in.parked, it)
	case f.waits(it):
		in.parked = append(in.parked, it)
		f.waiting = append(f.waiting, in)
	default:
		f.take(it)
	}
}

// readAgain notes what became of a file that was to be folded again.
func (f *folder) readAgain(o *origin, err error) {
	if err != nil && f.e.running.Err() == nil {
		f.failed[o.file.ID] = true
		f.e.options.Reporter.Unreadable(o.file.ID, o.file.Path, err)
	}
}

// take folds an item that need not wait.
func (f *folder) take(it item) {
	f.sessions.At(f.clock.at)
	in := it.input
	if it.ended {
		f.end(in, it.ending)
		in.queued.Add(-1)
		f.hand(nil, in.origin)
		return
	}
	p := it.piece
	p.Wait()
	o := f.origin(in)
	o.voices.Modified(in.modified())
	if in.source.Live && f.e.options.Durable {
		f.journalled(o, in, p)
	} else {
		for i := range p.Len() {
			said, anew := o.voices.Hear(p.Line(i), p.Units(i), p.Arrived(i))
			if anew != nil {
				p.Again(i, anew)
			}
			o.voices.Step(&said)
		}
	}
	f.e.options.Reporter.Folded(p.Format(), p.Outcomes(), p.Size, p.NULs)
	in.queued.Add(-1)
	f.hand(p, o)
}

// end ends an input's sources.
func (f *folder) end(in *Input, how Ending) {
	o := in.origin
	if o == nil {
		o = f.files[in.source.File]
	}
	if o == nil || in.source.File != 0 && o.file.Epoch != in.source.Epoch {
		return // it brought nothing, or sleeps
	}
	switch {
	case how == Suspended && f.e.options.Durable && (in.source.File != 0 || in.source.Request):
		return // it goes on
	case how == Broken:
		o.voices.End()
	default:
		o.voices.Release()
	}
	o.ended = true
	delete(f.files, in.source.File)
}

// due moves the clock and closes what it has made final.
func (f *folder) due() {
	// Parcels that were there at the last tick and still are: the delivery stands.
	commits := f.e.commits.Load()
	stood := f.e.outstanding.Load() > 0 && commits == f.ticked
	f.ticked = commits
	// Before all files have been looked at, nobody knows what is still to come.
	at := f.clock.advance(f.e.options.Batch.Now(), stood || !f.e.caughtUp.Load())
	if f.e.caughtUp.Load() && !f.early {
		f.sessions.Due(at)
		f.wake(at)
	}
	f.hand(nil, nil)
	f.tidy(at)
	f.sweep(at)
}

// hand passes on what became final, the batch that it came from, and what is to be stored of it; the
// delivery commits all of it together.
func (f *folder) hand(p *piece, o *origin) {
	e := f.e
	for _, key := range f.reborn {
		f.sessions.Rebuilt(key)
	}
	f.reborn = f.reborn[:0]
	outs := f.sessions.Take()
	changes := append(f.lost, f.sessions.Changes()...)
	f.lost = nil
	var files []ledger.File
	if p != nil && o.file.ID != 0 && p.Progress.ID != 0 {
		o.file.Progress = p.Progress
		f.note(o)
		files = append(files, o.file)
	}
	ops := f.ledger.Fold(changes, f.sessions.Learned(), files...)
	if o != nil {
		ops = append(ops, f.attribute(o, changes)...)
	}
	f.diaries.note(changes)
	ops = append(ops, f.ops...)
	f.ops = nil
	e.resident.Store(int64(f.sessions.Sessions()))
	if len(outs) == 0 && p == nil && len(ops) == 0 {
		return
	}
	f.pass(&parcel{outs: outs, piece: p, ops: ops})
	for i := range changes {
		f.changed(&changes[i])
	}
	f.makeRoom()
}

// pass gives a parcel the next number and the delivery the parcel.
func (f *folder) pass(p *parcel) {
	f.number++
	p.number = f.number
	f.e.outstanding.Add(1)
	f.e.parcels <- p
}
