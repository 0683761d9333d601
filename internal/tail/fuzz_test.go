// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package tail

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// model is what the files of a fuzz run hold, and what may have come of it.
type model struct {
	*rig
	files   map[string]string // name: content
	legit   map[string]bool   // whole lines, and objects that stood where a line had not ended
	allowed map[string]int    // how often a line may come: once, and again for each rewriting
	came    map[string]int
	lines   int

	uncommitted []string
}

const (
	hidden   = "hidden"
	alphabet = "apqntrmdozxAPQNTRMDO.w,....skhc"
)

// FuzzTailer plays operations on two files. Upper case letters are for the second file.
//
//	a append a line         p append half a line    q append an object without a line end
//	n append a line end     t cut in half           r replace in place by one line, R by more than it had
//	m rename to the next    d delete                o move out of sight, or back
//	z append zeros          x append a line that is too long
//	s restart               k kill and restart      h hold commits, c let them come
//	. poll                  w wait 6 s and poll     , wait until everything is read, and compare
//
// Other bytes stand for one of these.
func FuzzTailer(f *testing.F) {
	for _, seed := range []string{
		"a.a.a,", "p.n.a.", "q.w.n.a,", "aaa.t.a,", "aaapt.a.n,", "aa.r.r.a,", "a.m.a.A.M,", "a.d.a.,", "ap.da,",
		"aA.mA.,", "a.o.a.o.a,", "ao,o,", "x.a.xp.n,", "z.a.z.n,", "aw.r.w.a,aaaaaaaaaaaaaaaaaaaa.t.aaaaaaaaaa,", "q.w.q.w.a.,",
		"p.r.a,", "pp.t.n,", "A.a.M.m,", "q.w.t.a,", "am.a.m,", "aR.R.,", "ad.A.d.a,",
		"mR.O.aDDM,QoxM..ta.Mx.Ow,A..Na..nm.PNazw,twAmOr", // names that change places while a number is given anew
		"ap.sn,", "aaps.n,", "qw.sn.a,", "qwkn.a,", "xxpps.n.a,", "haaa.k,", "haa.ca.hapkn,", "aaa,str,", "aa,sr,", "aa,sR,", "aa,kt.a,",
		"aA,sm,", "aaA,smA,", "aA,sdMA,", "a,sd,s.a,", "z.sz.a,", "ha.d..kA,", "ha.o.,o.ca,", "aPRO.so,", "ao.k.,o,", "ha.t.ka,", "z.DDAMM..OMMA.MsMDM",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, ops string) {
		if len(ops) > 60 {
			return
		}
		m := &model{
			rig: newRig(t, Config{MaxLine: 40, MaxOpen: readers}), files: map[string]string{},
			legit: map[string]bool{}, allowed: map[string]int{}, came: map[string]int{},
		}
		for _, b := range []byte(ops) {
			if strings.IndexByte(alphabet, b) < 0 {
				b = alphabet[int(b)%len(alphabet)]
			}
			m.play(rune(b))
		}
		m.play(',')
	})
}

func (m *model) play(op rune) {
	from, to := "a.jsonl", "b.jsonl"
	if op >= 'A' && op <= 'Z' {
		from, to = to, from
		op += 'a' - 'A'
	}
	_, there := m.files[from]
	m.lines++
	object := fmt.Sprintf(`{"n":%d}`, m.lines)
	switch op {
	case 'a':
		m.append(from, object+"\n")
	case 'p':
		m.append(from, object[:5])
	case 'q':
		m.append(from, object)
	case 'n':
		m.append(from, "\n")
	case 'z':
		m.append(from, "\x00\x00")
	case 'x':
		m.append(from, strings.Repeat("x", 50)+"\n")
	case 't':
		if there {
			half := len(m.files[from]) / 2
			m.cut(from, int64(half))
			m.rewritten(from, m.files[from][:half])
		}
	case 'r':
		if there {
			text := object + "\n"
			if from == "b.jsonl" {
				text = strings.Repeat(text, 1+len(m.files[from])/len(text))
			}
			m.write(from, text)
			m.rewritten(from, text)
		}
	case 'm':
		if there {
			m.move(from, to)
		}
	case 'd':
		if there {
			m.remove(from)
			delete(m.files, from)
		}
	case 'o':
		if _, out := m.files[hidden]; out {
			m.move(hidden, from)
			m.rewritten(from, m.files[from]) // it may have been let go of
		} else if there {
			m.move(from, hidden)
		}
	case 's':
		m.commit()
		m.uncommitted = nil
		m.restart(false)
	case 'k':
		m.restart(true)
	case 'h':
		m.held = true
	case 'c':
		m.held = false
		m.commit()
		m.uncommitted = nil
	case '.':
		m.wait(testPoll)
		m.poll()
	case 'w':
		m.wait(6 * time.Second)
		m.poll()
	case ',':
		for range 4 {
			m.wait(coldEvery)
			m.poll()
		}
	}
	if op == 's' || op == 'k' {
		for _, line := range m.uncommitted {
			m.came[line]--
		}
		m.uncommitted = nil
	}
	for _, line := range m.take() {
		m.came[line]++
		if m.held {
			m.uncommitted = append(m.uncommitted, line)
		}
		require.True(m, m.legit[line], "%q was never a line", line)
		require.LessOrEqual(m, m.came[line], m.allowed[line], "%q came too often", line)
	}
	if op == ',' {
		m.compare()
		m.reread()
	}
}

func (m *model) append(name, text string) {
	m.add(name, text)
	m.note(m.files[name]+text, m.files[name])
	m.files[name] += text
}

func (m *model) rewritten(name, text string) {
	m.files[name] = text
	m.note(text, "")
}

func (m *model) move(from, to string) {
	require.NoError(m, os.Rename(m.path(from), m.path(to)))
	m.files[to] = m.files[from]
	delete(m.files, from)
}

// note allows the lines of a content once more, but for those that were there before.
func (m *model) note(text, before string) {
	had := map[string]int{}
	for _, l := range pieces(before) {
		had[l]++
	}
	for _, l := range pieces(text) {
		if had[l] > 0 {
			had[l]--
			continue
		}
		m.legit[l] = true
		m.allowed[l]++
	}
}

// pieces gives everything that may come of a content as a line: lines and, since objects may have been
// taken before a line had ended, what stands before and behind each object at the beginning of a line.
func pieces(text string) (all []string) {
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		l = strings.TrimLeft(l, "\x00")
		for {
			if i < len(lines)-1 || object([]byte(l)) {
				all = append(all, l)
			}
			end := strings.Index(l, "}") + 1
			if end == 0 || !object([]byte(l[:end])) || end == len(l) {
				break
			}
			all = append(all, l[:end])
			l = strings.TrimLeft(l[end:], "\x00")
		}
	}
	return all
}

// compare finds every whole line among those that came.
func (m *model) compare() {
	for name, text := range m.files {
		if name == hidden {
			continue
		}
		lines := strings.Split(text, "\n")
		for _, l := range lines[:len(lines)-1] {
			require.True(m, m.covered(strings.TrimLeft(l, "\x00")), "%q of %s did not come", l, name)
		}
	}
}

func (m *model) covered(l string) bool {
	if l == "" || len(l) > m.cfg.MaxLine || m.came[l] > 0 {
		return true
	}
	end := strings.Index(l, "}") + 1
	return end > 0 && m.came[l[:end]] > 0 && m.covered(strings.TrimLeft(l[end:], "\x00"))
}
