// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package shell

// classifier gives the operation of a program from the words behind its name, or false when they
// are not understood.
type classifier func(words []word) (operation, bool)

// filter reports whether a program with these words only selects from or formats its input.
type filter func(words []word) bool

// The tables of flags, from events.md 11.5. Flags that the page does not name are marked with the
// reason: without them a command that does something else would be taken for an operation.
var (
	catFlags = flags("", "")
	nlFlags  = flags("-b -d -f -h -i -l -n -s -v -w --body-numbering --section-delimiter --footer-numbering "+
		"--header-numbering --line-increment --join-blank-lines --number-format --number-separator "+
		"--starting-line-number --number-width", "")
	batFlags = flags("-l -H -m -r --language --highlight-line --map-syntax --line-range --file-name --diff-context "+
		"--tabs --wrap --terminal-width --color --italic-text --decorations --paging --ignored-suffix --theme "+
		"--theme-dark --theme-light --squeeze-limit --strip-ansi --style --binary --nonprintable-notation",
		"--pager "+
			"--build --clear") // bat cache --build writes its own cache
	lessFlags = flags("-b -h -j -k -p -P -t -T -x -y -z -D --pattern --prompt --tabs --shift --jump-target "+
		"--max-back-scroll --max-forw-scroll --window",
		"-o -O --log-file --LOG-FILE "+
			"--log --log- --log-f --log-fi --log-fil --LOG --LOG- --LOG-F --LOG-FI --LOG-FIL") // less completes names
	moreFlags = flags("-n --lines", "")
	headFlags = flags("-n -c --lines --bytes",
		"-0 -1 -2 -3 -4 -5 -6 -7 -8 -9") // -20c and the like count something else than lines
	tailFlags = flags("-n -c --lines --bytes", "-f -F -s --follow --retry --pid --sleep-interval "+
		"-0 -1 -2 -3 -4 -5 -6 -7 -8 -9 "+ // as for head
		"--f --fo --fol --foll --follo") // GNU completes names
	sedFlags = flags("-e --expression", "")

	rgFlags = flags("-e -f -A -B -C -E -d -g -j -m -M -r -t -T --regexp --after-context --before-context --context "+
		"--encoding --max-depth --maxdepth --glob --iglob --threads --max-count --max-columns --replace --type "+
		"--type-not --type-add --type-clear --sort --sortr --color --colors --engine --path-separator "+
		"--context-separator --field-context-separator --field-match-separator --dfa-size-limit "+
		"--regex-size-limit --max-filesize --ignore-file --hyperlink-format --pre-glob",
		"-f --file --pre --hostname-bin --type-list --version -V --help -h --pcre2-version --generate")
	grepFlags = flags("-e -f -m -A -B -C -d -D --regexp --max-count --after-context --before-context --context --label "+
		"--binary-files --directories --devices --include --exclude --exclude-from --exclude-dir",
		"-f --file --version -V --help")
	gitGrepFlags = flags("-e -f -m -A -B -C --max-depth --threads --max-count --after-context --before-context --context",
		"-f --file -O --open-files-in-pager --and --or --not")
	agFlags = flags("-A -B -C -G -m -p -W -g --after --before --after-context --before-context --context "+
		"--file-search-regex --ignore --ignore-dir --ignore-file --max-count --depth --path-to-ignore --width "+
		"--workers --type", "--pager")
	ackFlags = agFlags.with("", "-f") // lists files; to ag it is --follow
	fdFlags  = flags("-d -t -e -E -S -o -j -c --max-depth --maxdepth --min-depth --exact-depth --type --extension "+
		"--exclude --size --changed-within --changed-before --owner --color --threads --max-results "+
		"--path-separator --ignore-file --format",
		"-x -X --exec --exec-batch --base-directory --search-path "+
			"-C --and") // -C is --base-directory; --and takes a second pattern

	lsFlags = flags("-I -w -T --ignore --hide --width --tabsize --block-size --time-style --quoting-style "+
		"--indicator-style --format --sort --time", "")
	ezaFlags  = flags("-L -I -s -t -w --level --ignore-glob --sort --time --time-style --width", "")
	treeFlags = flags("-L -P -I -H -T --filelimit --charset --timefmt --gitfile --infofile",
		"-o --output --fromfile "+
			"-R") // writes a 00Tree.html into directories
	duFlags = flags("-d -t -X -B --max-depth --threshold --exclude --exclude-from --block-size --time-style",
		"--files0-from")
	lsFilesFlags = flags("-x -X --exclude --exclude-from --exclude-per-directory --with-tree --format "+
		"--pathspec-from-file", "")
)

// operations are the programs that a pipeline may begin with.
var operations = map[string]classifier{
	"cat":     reads(catFlags, wholeFile),
	"nl":      reads(nlFlags, wholeFile),
	"bat":     reads(batFlags, batLines),
	"batcat":  reads(batFlags, batLines),
	"less":    reads(lessFlags, pagerLines),
	"more":    reads(moreFlags, pagerLines),
	"head":    reads(headFlags, headLines),
	"tail":    reads(tailFlags, tailLines),
	"sed":     sed,
	"rg":      ripgrep,
	"ripgrep": ripgrep,
	"rga":     ripgrep,
	"grep":    searches(grepFlags, "-e", "--regexp"),
	"egrep":   searches(grepFlags, "-e", "--regexp"),
	"fgrep":   searches(grepFlags, "-e", "--regexp"),
	"git":     git,
	"ag":      searches(agFlags, "-g"),
	"ack":     searches(ackFlags, "-g"),
	"fd":      fd,
	"fdfind":  fd,
	"find":    find,
	"ls":      lists(lsFlags),
	"eza":     lists(ezaFlags),
	"exa":     lists(ezaFlags),
	"tree":    lists(treeFlags),
	"du":      lists(duFlags),
}

// filters are the programs that the later stages of a pipeline may be (events.md 11.6). The page
// names few of their flags; the values are those of the GNU and BSD programs, so that no value is
// taken for a file and no file for a value.
var filters = map[string]filter{
	"cat":    withoutOperands(catFlags),
	"nl":     withoutOperands(nlFlags),
	"bat":    withoutOperands(batFlags),
	"batcat": withoutOperands(batFlags),
	"less":   withoutOperands(lessFlags),
	"more":   withoutOperands(moreFlags),
	"head":   withoutOperands(headFlags),
	"tail":   withoutOperands(tailFlags),
	"wc":     withoutOperands(flags("", "--files0-from")),
	"sort": withoutOperands(flags("-k -t -S -T --key --field-separator --buffer-size --temporary-directory "+
		"--parallel --batch-size --random-source --sort",
		"-o --output --compress-program --files0-from "+
			"--o --ou --out --outp --outpu --co --com --comp --compr --compre --compres --compress "+ // GNU completes names
			"--compress- --compress-p --compress-pr --compress-pro --compress-prog --compress-progr --compress-progra")),
	"uniq": withoutOperands(flags("-f -s -w --skip-fields --skip-chars --check-chars", "")),
	"cut":  withoutOperands(flags("-b -c -d -f --bytes --characters --delimiter --fields --output-delimiter", "")),
	"tr":   anyOperands(flags("", "")),
	"column": withoutOperands(flags("-c -s -o -N -l -R -T -H -O -W -n -r -i -p -S -C --output-width --separator "+
		"--output-separator --table-columns --table-columns-limit --table-right --table-truncate --table-hide "+
		"--table-order --table-wrap --table-name --tree --tree-id --tree-parent --use-spaces --table-column", "")),
	"fold":  withoutOperands(flags("-w --width", "")),
	"fmt":   withoutOperands(flags("-w -p -g --width --prefix --goal", "")),
	"rev":   withoutOperands(flags("", "")),
	"tac":   withoutOperands(flags("-s --separator", "")),
	"sed":   sedFilter,
	"grep":  grepFilter,
	"egrep": grepFilter,
	"fgrep": grepFilter,
	"rg":    rgFilter,
}

// known are all programs that an understood command may name.
var known = func() map[string]bool {
	names := set("cd bash sh zsh true : echo printf")
	for name := range operations {
		names[name] = true
	}
	for name := range filters {
		names[name] = true
	}
	return names
}()

func withoutOperands(t flagTable) filter {
	return func(words []word) bool {
		args, ok := t.parse(words)
		return ok && len(args.operands) == 0
	}
}

func anyOperands(t flagTable) filter {
	return func(words []word) bool {
		_, ok := t.parse(words)
		return ok
	}
}
