// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// canary is what must not be seen; keys are put together so that no scanner takes this file for a leak.
const (
	canary = "CANARY"
	x10    = "CANARY1234"
	x20    = x10 + "aBcD567890"
	x40    = x20 + "zYxW0987654321qPoN12"
	hex32  = "0123456789abcdef0123456789abcdef"
	dashes = "-----"
)

func on(t testing.TB, patterns ...string) *Redactor {
	t.Helper()
	r, err := New(true, patterns)
	require.NoError(t, err)
	return r
}

// secrets maps a text to what must be left of it.
var secrets = map[string]string{
	"-password " + canary:                                         "-password [REDACTED]",
	"docker login -u u -p " + canary + " h":                       "docker login -u u -p [REDACTED] h",
	"passwords: [" + canary + ", b]":                              "passwords: [[REDACTED], [REDACTED]]",
	`let password: string = "` + canary + `";`:                    `let password: string = "[REDACTED]";`,
	`password?: string = '` + canary + `'`:                        `password?: string = '[REDACTED]'`,
	`secretKey := []byte("` + canary + `")`:                       `secretKey := []byte("[REDACTED]")`,
	`token = decode("` + canary + `", 1)`:                         `token = decode("[REDACTED]", 1)`,
	`<property name="password" value="` + canary + `"/>`:          `<property name="password" value="[REDACTED]"/>`,
	"- name: DB_PASSWORD\n  value: " + canary:                     "- name: DB_PASSWORD\n  value: [REDACTED]",
	"openssl -passin pass:" + canary:                              "openssl -passin pass:[REDACTED]",
	"password=" + canary:                                          "password=[REDACTED]",
	"the password=" + canary + "-one please":                      "the password=[REDACTED] please",
	"Password: " + canary:                                         "Password: [REDACTED]",
	"passwd = " + canary:                                          "passwd = [REDACTED]",
	`db_password = "` + canary + ` two"`:                          `db_password = "[REDACTED]"`,
	"DB_PASSWORD='" + canary + "'":                                "DB_PASSWORD='[REDACTED]'",
	"export API_KEY=" + canary + "-xyz":                           "export API_KEY=[REDACTED]",
	"AWS_SECRET_ACCESS_KEY=" + canary + "-five aws s3 ls":         "AWS_SECRET_ACCESS_KEY=[REDACTED] aws s3 ls",
	"AWS_ACCESS_KEY_ID=" + canary:                                 "AWS_ACCESS_KEY_ID=[REDACTED]",
	"AWS_SESSION_TOKEN=" + canary + "/+==":                        "AWS_SESSION_TOKEN=[REDACTED]",
	"token=" + canary + "-six":                                    "token=[REDACTED]",
	"access_token=" + canary + "&next=1":                          "access_token=[REDACTED]&next=1",
	"https://h/p?token=" + canary + "&page=2":                     "https://h/p?token=[REDACTED]&page=2",
	"https://h/p?sv=1&sig=" + canary + "%3D&se=2":                 "https://h/p?sv=1&sig=[REDACTED]&se=2",
	"https://h/p?X-Amz-Signature=" + canary:                       "https://h/p?X-Amz-Signature=[REDACTED]",
	"Server=s;User Id=u;Password=" + canary + ";Encrypt=true":     "Server=s;User Id=u;Password=[REDACTED];Encrypt=true",
	"DefaultEndpointsProtocol=https;AccountKey=" + canary + "==;": "DefaultEndpointsProtocol=https;AccountKey=[REDACTED];",
	`{"password": "` + canary + `"}`:                              `{"password": "[REDACTED]"}`,
	`{"clientSecret":"` + canary + `","a":1}`:                     `{"clientSecret":"[REDACTED]","a":1}`,
	`{"password":"a\"` + canary + `\\"}`:                          `{"password":"[REDACTED]"}`,
	`{'apiKey': '` + canary + `'}`:                                `{'apiKey': '[REDACTED]'}`,
	`{"secrets": ["` + canary + `", "b` + canary + `"]}`:          `{"secrets": ["[REDACTED]", "[REDACTED]"]}`,
	`{"auth": "` + "dXNlcjpDQU5BUlk=" + `"}`:                      `{"auth": "[REDACTED]"}`,
	"client-secret: " + canary:                                    "client-secret: [REDACTED]",
	"x-api-key: " + canary:                                        "x-api-key: [REDACTED]",
	"API key: " + canary:                                          "API key: [REDACTED]",
	"Secret Key = " + canary:                                      "Secret Key = [REDACTED]",
	"STRIPE_KEY=" + x20:                                           "STRIPE_KEY=[REDACTED]",
	"//registry.example/:_authToken=" + canary:                    "//registry.example/:_authToken=[REDACTED]",
	"spring.datasource.password=" + canary:                        "spring.datasource.password=[REDACTED]",
	"PASSWORD2=" + canary:                                         "PASSWORD2=[REDACTED]",
	"SMTP_PASS=" + canary:                                         "SMTP_PASS=[REDACTED]",
	"SECRET_KEY_BASE=" + canary:                                   "SECRET_KEY_BASE=[REDACTED]",
	"credentials: " + canary:                                      "credentials: [REDACTED]",
	"passphrase := \"" + canary + "\"":                            "passphrase := \"[REDACTED]\"",
	"TOKEN ?= " + canary:                                          "TOKEN ?= [REDACTED]",
	"'token' => '" + canary + "'":                                 "'token' => '[REDACTED]'",
	`os.environ["API_TOKEN"] = "` + canary + `"`:                  `os.environ["API_TOKEN"] = "[REDACTED]"`,
	`if password == "` + canary + `":`:                            `if password == "[REDACTED]":`,
	"password = \"\"\"" + canary + "\nb\"\"\"":                    "password = \"\"\"[REDACTED]\"\"\"",
	"password: \"" + canary + " cut":                              "password: \"[REDACTED]",
	"password=" + canary + ",with,commas":                         "password=[REDACTED]",
	"password=$" + strings.ToLower(canary) + canary:               "password=[REDACTED]",
	"(password=" + canary + ").":                                  "(password=[REDACTED]).",
	"<password>" + canary + "</password>":                         "<password>[REDACTED]</password>",
	"mysql --password " + canary + " -h x":                        "mysql --password [REDACTED] -h x",
	"x --token=" + canary + " y":                                  "x --token=[REDACTED] y",
	"x --api-key '" + canary + " b' y":                            "x --api-key '[REDACTED]' y",
	`["--password", "` + canary + `", "x"]`:                       `["--password", "[REDACTED]", "x"]`,
	"mysql -uroot -p" + canary + " db":                            "mysql -uroot -p[REDACTED] db",
	"sshpass -p " + canary + " ssh h":                             "sshpass -p [REDACTED] ssh h",
	"keytool -storepass " + canary:                                "keytool -storepass [REDACTED]",
	"curl -u me:" + canary + " https://h":                         "curl -u me:[REDACTED] https://h",
	`curl --user "me:` + canary + ` x" https://h`:                 `curl --user "me:[REDACTED]" https://h`,
	"Authorization: Bearer " + canary:                             "Authorization: Bearer [REDACTED]",
	"curl -H 'Authorization: Bearer " + canary + "-abc123' https://u:" + canary + "-pw@example.invalid": "curl -H 'Authorization: Bearer [REDACTED]' https://u:[REDACTED]@example.invalid",
	"authorization: Basic " + canary + "==":                                   "authorization: Basic [REDACTED]",
	"Proxy-Authorization: " + canary:                                          "Proxy-Authorization: [REDACTED]",
	"Authorization: Digest username=\"u\", response=x":                        "Authorization: Digest [REDACTED]\"u\", response=x",
	"Authorization: Odd " + canary + " x":                                     "Authorization: [REDACTED] x",
	`{"Authorization": "Bearer ` + canary + ` x"}`:                            `{"Authorization": "Bearer [REDACTED]"}`,
	"headers: {Authorization: `token " + canary + "`}":                        "headers: {Authorization: `token [REDACTED]`}",
	"sent Bearer " + x20:                                                      "sent Bearer [REDACTED]",
	"sent Basic " + base64.StdEncoding.EncodeToString([]byte("user:"+canary)): "sent Basic [REDACTED]",
	"Cookie: a=" + canary + "; b=c":                                           "Cookie: [REDACTED]",
	"set-cookie: sid=" + canary + "; Path=/\nx":                               "set-cookie: [REDACTED]\nx",
	"postgres://u:" + canary + "@h:5432/db":                                   "postgres://u:[REDACTED]@h:5432/db",
	"redis://:" + canary + "@h":                                               "redis://:[REDACTED]@h",
	"https://u:a/" + canary + "@h/p":                                          "https://u:[REDACTED]@h/p",
	"https://u:a@" + canary + "@h/p":                                          "https://u:[REDACTED]@h/p",
	"https://" + x20 + "@h/p":                                                 "https://[REDACTED]@h/p",
	"https://hooks.slack" + ".com/services/T0/B0/" + canary:                   "https://hooks.slack" + ".com/services/[REDACTED]",
	"https://discord" + ".com/api/webhooks/1/" + canary + ".":                 "https://discord" + ".com/api/webhooks/[REDACTED].",
	dashes + "BEGIN RSA PRIVATE KEY" + dashes + "\n" + canary + "\n" + dashes + "END RSA PRIVATE KEY" + dashes + "\nx": "[REDACTED]\nx",
	"a " + dashes + "BEGIN OPENSSH PRIVATE KEY" + dashes + "\n" + canary + "\nmore":                                    "a [REDACTED]",
	`"` + dashes + `BEGIN PRIVATE KEY` + dashes + `\n` + canary + `\n" x`:                                              `"[REDACTED]" x`,
	"ey" + "JhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiJ" + canary + "." + canary + "_-.":                                       "[REDACTED].",
	"AK" + "IA" + "CANARY1234567890":             "[REDACTED]",
	"id AS" + "IA" + "CANARY1234567890,":         "id [REDACTED],",
	"gh" + "p_" + x40:                            "[REDACTED]",
	"gh" + "s_" + x40:                            "[REDACTED]",
	"github" + "_pat_" + x40:                     "[REDACTED]",
	"gl" + "pat-" + x20:                          "[REDACTED]",
	"xo" + "xb-123-456-" + x20:                   "[REDACTED]",
	"xa" + "pp-1-A0-1-" + x20:                    "[REDACTED]",
	"sk" + "_live_" + x20:                        "[REDACTED]",
	"rk" + "_test_" + x20:                        "[REDACTED]",
	"wh" + "sec_" + x20:                          "[REDACTED]",
	"s" + "k-" + x20:                             "[REDACTED]",
	"s" + "k-proj-" + x20 + "_" + x20:            "[REDACTED]",
	"s" + "k-ant-" + canary:                      "[REDACTED]",
	"use s" + "k-ant-api03-" + x40 + " now":      "use [REDACTED] now",
	"AI" + "za" + "Sy" + x40:                     "[REDACTED]",
	"ya" + "29." + x20:                           "[REDACTED]",
	"GOC" + "SPX-" + x20:                         "[REDACTED]",
	"np" + "m_" + x40:                            "[REDACTED]",
	"h" + "f_" + x40:                             "[REDACTED]",
	"py" + "pi-" + x40:                           "[REDACTED]",
	"do" + "p_v1_" + hex32 + hex32:               "[REDACTED]",
	"S" + "G." + x20 + "." + x40:                 "[REDACTED]",
	"shp" + "at_" + hex32:                        "[REDACTED]",
	"lin" + "_api_" + x40:                        "[REDACTED]",
	"hv" + "s." + x40:                            "[REDACTED]",
	"da" + "pi" + hex32:                          "[REDACTED]",
	"dckr" + "_pat_" + x20:                       "[REDACTED]",
	"gs" + "k_" + x40:                            "[REDACTED]",
	"xa" + "i-" + x40:                            "[REDACTED]",
	"S" + "K" + hex32:                            "[REDACTED]",
	"ATA" + "TT3" + x40:                          "[REDACTED]",
	"abc8" + "Q~" + x40:                          "[REDACTED]",
	"bot 12345678" + "90:" + "AA" + x40[:33]:     "bot [REDACTED]",
	`a\nexport GITHUB_X=gh` + "p_" + x40 + `\nb`: `a\nexport GITHUB_X=[REDACTED]\nb`,
	`a\npassword=` + canary + `\nb`:              `a\npassword=[REDACTED]\nb`,
	`"cmd \"password\": \"` + canary + `\" x"`:   `"cmd \"password\": \"[REDACTED]\" x"`,
	`\\\"token\\\":\\\"` + canary + `\\\",`:      `\\\"token\\\":\\\"[REDACTED]\\\",`,
}

func TestSecrets(t *testing.T) {
	require.GreaterOrEqual(t, len(secrets), 60)
	r := on(t)
	for in, want := range secrets {
		t.Run(in, func(t *testing.T) {
			assert.Equal(t, want, r.String(in))
			assert.Equal(t, want, r.String(want), "twice")
		})
	}
}

// TestSecretsInContext puts every secret into the places where agents write text.
func TestSecretsInContext(t *testing.T) {
	r := on(t)
	quote := func(s string) string {
		var b strings.Builder
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		require.NoError(t, enc.Encode(s))
		return strings.TrimSpace(b.String())
	}
	for name, wrap := range map[string]func(string) string{
		"own line":     func(s string) string { return "before\n" + s + "\nafter" },
		"crlf":         func(s string) string { return "before\r\n" + s + "\r\nafter" },
		"line of diff": func(s string) string { return "@@ -1 +1 @@\n+" + s + "\n-old" },
		"list item":    func(s string) string { return "- " + s + "\n- next" },
		"non-ascii":    func(s string) string { return "é 日本 " + s + " é" },
		"json":         func(s string) string { return `{"command":` + quote(s) + `,"n":1}` },
		"json in json": func(s string) string { return `{"text":` + quote(`{"command":`+quote(s)+`}`) + `}` },
		"key behind":   func(s string) string { return s + "\npassword=b" },
	} {
		t.Run(name, func(t *testing.T) {
			for in, want := range secrets {
				if !strings.Contains(in, canary) || strings.Contains(want, canary) {
					continue
				}
				text := wrap(in)
				out := r.String(text)
				assert.NotContains(t, out, canary, "%s", text)
				assert.Equal(t, out, r.String(out), "twice")
				if json.Valid([]byte(text)) {
					assert.True(t, json.Valid([]byte(out)), "still JSON: %s", out)
					j := r.JSON([]byte(text))
					assert.NotContains(t, string(j), canary)
					assert.True(t, json.Valid(j), "%s", j)
				}
			}
		})
	}
}

var innocents = []string{
	"tokens: 12", "max_tokens=8192", `"input_tokens": 12, "output_tokens": 3`, "token_count=5", "token: 12", `{"max_tokens":1}`,
	"total_tokens = a.input_tokens + b", "cache_read_input_tokens=0", "tokenizer: bpe", "token_type=bearer", "expires_in: 3600",
	"password_file: /run/x", "DB_PASSWORD_FILE=/run/secrets/db", "password: string;", "password: str = None", "token: null",
	"password=***", "password=$DB_PASSWORD", `password="${DB_PASSWORD}"`, "TOKEN={{ vault_token }}", "token: <your-token>",
	`-H "Authorization: Bearer $TOKEN"`, "Authorization: Bearer ${TOKEN}", "headers: {Authorization: `Bearer ${token}`}",
	"token.go:45: undefined: x", "src/secret.py:12:3: error", "token = getToken()", "this.token = opts.token;", "connect(password=password)",
	"secret::Scope", "std::token::Kind", "public_key=abc", "primary key: id", "PRIMARY_KEY=id", "key: value", "keys=3", "cache_key: abc",
	"PWD=/home/u", "pass: 12 fail: 0", "pass=5", "compass: north", "author: me", "authority=x", "oauth: true", "auth: true",
	"session_id=0b1c2d3e-0000-4000-8000-000000000000", "sessionId: s1", "monkey: see", "secretary: Ann", "passive=1", "bypass=true",
	"https://example.com:8080/a@b", "https://user@example.com/x", "http://h/p?page_token=2&x=1", "git@github.com:o/r.git", "see https://a/b: ok",
	"bearer of news", "Bearer authentication", "Basic usage", "Basic authentication", "use --token to sign in", "--password-stdin", "--max-tokens 5", "a -p 80 -u 1000:1000",
	"task-management-with-a-long-name", "sk-learn-with-a-long-name", "disk-usage-of-the-whole-machine", "hf_hub_download", "npm_config_registry", "glpat", "AKIA", "eyJ",
	"x == y", "a := b", "if token != nil {", "for token := range tokens {", "next_token=abc", "secret_name: db", "secrets_count: 2", "Cookie: none", "credential.helper=store",
	"git commit -m 'key=value'", "SELECT * FROM tokens WHERE id = 5", "-----", "----- BEGIN -----", "[REDACTED]", "password=[REDACTED]", "日本語: テキスト", "",
}

func TestInnocents(t *testing.T) {
	require.GreaterOrEqual(t, len(innocents), 40)
	r := on(t)
	for _, s := range innocents {
		assert.Equal(t, s, r.String(s))
		assert.Equal(t, "x\n"+s+"\ny", r.String("x\n"+s+"\ny"))
		quoted, err := json.Marshal(map[string]string{"command": s})
		require.NoError(t, err)
		assert.JSONEq(t, string(quoted), string(r.JSON(quoted)))
	}
}

func TestSwitchedOff(t *testing.T) {
	off, err := New(false, []string{"x"})
	require.NoError(t, err)
	for name, r := range map[string]*Redactor{"disabled": off, "zero": {}, "nil": nil} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, "password=x \uFFFD", r.String("password=x \xff"))
			assert.Equal(t, "["+"image/png 3 bytes sha256:ba7816bf8f01]", r.String("data:image/png;base64,YWJj"))
			assert.Equal(t, `{"password":1}`, string(r.JSON([]byte(`{"password":1}`))))
		})
	}
}

func TestPatterns(t *testing.T) {
	for name, tt := range map[string]struct {
		patterns []string
		in, want string
	}{
		"whole match":       {[]string{`ACME-\d+`}, "id ACME-12 and ACME-3", "id [REDACTED] and [REDACTED]"},
		"adjacent":          {[]string{`[ab]`}, "xabx", "x[REDACTED]x"},
		"inside the marker": {[]string{`RED`}, "password=x RED", "password=[REDACTED] [REDACTED]"},
		"across the marker": {[]string{`=.*!`}, "password=x y! z", "password[REDACTED] z"},
		"everything":        {[]string{`.+`}, "password=x", "[REDACTED]"},
		"case":              {[]string{`(?i)acme`}, "ACME acme", "[REDACTED] [REDACTED]"},
		"several":           {[]string{"a", "b"}, "a b c", "[REDACTED] [REDACTED] c"},
		"many markers":      {[]string{`E\w`}, "token=q Ex token=q Ex RED Ex", "token=[REDACTED] [REDACTED] token=[REDACTED] [REDACTED] R[REDACTED] [REDACTED]"},
	} {
		t.Run(name, func(t *testing.T) {
			r := on(t, tt.patterns...)
			assert.Equal(t, tt.want, r.String(tt.in))
			assert.Equal(t, tt.want, r.String(tt.want))
		})
	}
	_, err := New(true, []string{"ok", "(", "a*"})
	require.ErrorContains(t, err, "patterns[1]: must be a regular expression in RE2 syntax: ")
	require.ErrorContains(t, err, `patterns[2]: must not match the empty text: "a*"`)
}

func TestTruncate(t *testing.T) {
	for name, tt := range map[string]struct {
		in   string
		max  int
		want string
		cut  bool
	}{
		"fits":                     {"hello", 5, "hello", false},
		"empty":                    {"", 0, "", false},
		"cut":                      {strings.Repeat("a", 30), 20, "aaaaaa…[truncated]", true},
		"character boundary":       {strings.Repeat("é", 30), 19, "éé…[truncated]", true},
		"wide characters":          {strings.Repeat("😀", 30), 20, "😀…[truncated]", true},
		"only the mark":            {strings.Repeat("a", 30), 14, "…[truncated]", true},
		"no room for the mark":     {strings.Repeat("a", 30), 5, "aa…", true},
		"no room for the ellipsis": {"aaaaa", 2, "aa", true},
		"nothing":                  {"aaaaa", 0, "", true},
		"negative":                 {"aaaaa", -1, "", true},
		"a marker is not cut":      {"token=" + Marker + strings.Repeat("a", 30), 24, "token=…[truncated]", true},
		"a marker that fits":       {"token=" + Marker + strings.Repeat("a", 30), 30, "token=" + Marker + "…[truncated]", true},
	} {
		t.Run(name, func(t *testing.T) {
			got, cut := Truncate(tt.in, tt.max)
			assert.Equal(t, tt.want, got)
			assert.Equal(t, tt.cut, cut)
			assert.LessOrEqual(t, len(got), max(tt.max, 0))
		})
	}
	s, _ := Truncate(on(t).String(`{"command":"curl -H 'Authorization: Bearer `+canary+`-abc123' https://u:`+canary+`-pw@example.invalid"}`), 66)
	assert.NotContains(t, s, canary)
	assert.Contains(t, s, "curl")
}

func TestBinary(t *testing.T) {
	assert.Equal(t, "[image/png 16 bytes sha256:02a3e298f153]", Binary("image/png", "iVBORw0KGgoAAAANSUhEUg=="))
	for name, tt := range map[string]struct{ mediaType, data, want string }{
		"padding left out": {"image/png", "YWI", "[image/png 2 bytes sha256:fb8e20fc2e4c]"},
		"wrapped":          {"image/png", "YW\nI=\n", "[image/png 2 bytes sha256:fb8e20fc2e4c]"},
		"url alphabet":     {"a/b", "_-8=", "[a/b 2 bytes sha256:2ae12cb0a0c3]"},
		"no base64":        {"a/b", "abc!", "[a/b 4 bytes sha256:"},
		"no type":          {"", "YWI", "[application/octet-stream 2 bytes sha256:fb8e20fc2e4c]"},
		"odd type":         {"a/b] secret", "YWI", "[application/octet-stream 2 bytes sha256:fb8e20fc2e4c]"},
		"empty":            {"a/b", "", "[a/b 0 bytes sha256:e3b0c44298fc]"},
	} {
		t.Run(name, func(t *testing.T) {
			got := Binary(tt.mediaType, tt.data)
			assert.True(t, strings.HasPrefix(got, tt.want) || name == "url alphabet", got)
			assert.True(t, isSummary(got))
		})
	}
}

func noise(n int) string {
	b := make([]byte, n)
	x := uint32(1)
	for i := range b {
		x = x*1664525 + 1013904223
		b[i] = byte(x >> 24)
	}
	return base64.StdEncoding.EncodeToString(b)
}

func wrap(s string, width int, nl string) string {
	var b strings.Builder
	for len(s) > width {
		b.WriteString(s[:width] + nl)
		s = s[width:]
	}
	return b.String() + s
}

func TestBlobs(t *testing.T) {
	r := on(t)
	long := noise(3000)
	for name, in := range map[string]string{
		"one line":  "see " + long + " end",
		"wrapped":   "see\n" + wrap(long, 76, "\n") + "\nend",
		"crlf":      "see\r\n" + wrap(long, 76, "\r\n") + "\r\nend",
		"data url":  "see data:image/png;base64," + noise(30) + " end",
		"two":       long + " " + long + " end",
		"behind it": strings.Repeat("text ", 1000) + long,
	} {
		t.Run(name, func(t *testing.T) {
			out := r.String(in)
			assert.Contains(t, out, " bytes sha256:")
			assert.NotContains(t, out, long[100:130])
			assert.NotContains(t, out, long[2000:2030])
			assert.Equal(t, out, r.String(out))
		})
	}
	for name, in := range map[string]string{
		"ruler": strings.Repeat("=", 5000), "word": strings.Repeat("x", 5000), "hex": strings.Repeat(hex32, 100),
		"short": noise(600), "prose": strings.Repeat("The quick brown fox 12 jumps. ", 500), "path": strings.Repeat("a/Bc1/", 500),
		"names": strings.Repeat("SomeFileName12/x\n", 500),
	} {
		assert.Equal(t, in, r.String(in), name)
	}
}

func TestJSON(t *testing.T) {
	r := on(t)
	png := "iVBORw0KGgoAAAANSUhEUg=="
	sum := "[image/png 16 bytes sha256:02a3e298f153]"
	for name, tt := range map[string]struct{ in, want string }{
		"key":             {`{"password":"x y"}`, `{"password":"[REDACTED]"}`},
		"nested":          {`{"a":[{"apiKey": "x"}, 1]}`, `{"a":[{"apiKey": "[REDACTED]"}, 1]}`},
		"number":          {`{"password":1234,"max_tokens":5}`, `{"password":"[REDACTED]","max_tokens":5}`},
		"null and bool":   {`{"password":null,"secret":true}`, `{"password":null,"secret":true}`},
		"object":          {`{"credentials":{"user":"u","pass":"hunter"}}`, `{"credentials":{"user":"u","pass":"[REDACTED]"}}`},
		"list":            {`{"secrets":["a",["b"]]}`, `{"secrets":["[REDACTED]",["[REDACTED]"]]}`},
		"several lines":   {`{"token":"a\nb"}`, `{"token":"[REDACTED]"}`},
		"scheme":          {`{"Authorization":"Bearer x y"}`, `{"Authorization":"Bearer [REDACTED]"}`},
		"escaped key":     {`{"pass\u0077ord":"x"}`, `{"password":"[REDACTED]"}`},
		"name and value":  {`[{"name":"DB_PASSWORD","value":"x"},{"name":"A","value":"x"}]`, `[{"name":"DB_PASSWORD","value":"[REDACTED]"},{"name":"A","value":"x"}]`},
		"arguments":       {`["cmd","--password","x","--token","--x","y"]`, `["cmd","--password","[REDACTED]","--token","--x","y"]`},
		"inside a string": {`{"command":"x --token=abc \"<&>\""}`, `{"command":"x --token=[REDACTED] \"<&>\""}`},
		"as a key":        {`{"gh` + `p_` + x40 + `":1}`, `{"[REDACTED]":1}`},
		"secret in a key": {`{"passwd =text":"passwd = x"}`, `{"passwd =[REDACTED]":"[REDACTED]"}`},
		"image":           {`{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + png + `"}}`, `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + sum + `"}}`},
		"data first":      {`{"data":"` + png + `","mimeType":"image/png"}`, `{"data":"` + sum + `","mimeType":"image/png"}`},
		"file":            {`{"file":{"base64":"` + png + `","type":"image/png"}}`, `{"file":{"base64":"` + sum + `","type":"image/png"}}`},
		"text document":   {`{"type":"text","media_type":"text/plain","data":"hello"}`, `{"type":"text","media_type":"text/plain","data":"hello"}`},
		"data url":        {`{"url":"data:image/png;base64,` + png + `"}`, `{"url":"` + sum + `"}`},
		"lone surrogate":  {`{"a":"\ud83d x","b":"\ud83d\ude00"}`, "{\"a\":\"\uFFFD x\",\"b\":\"😀\"}"},
		"invalid bytes":   {"{\"a\":\"\xff\"}", "{\"a\":\"\uFFFD\"}"},
		"untouched":       {"{ \"a\" : [ 1e5 , -0.0 , \"x\\n\" ] }\n", "{ \"a\" : [ 1e5 , -0.0 , \"x\\n\" ] }\n"},
		"no json":         {`{"password":"x`, `{"password":"[REDACTED]`},
		"scalar":          {`"token=abc"`, `"token=[REDACTED]"`},
		"other data":      {`{"data":"` + png + `"}`, `{"data":"` + png + `"}`},
	} {
		t.Run(name, func(t *testing.T) {
			in := []byte(tt.in)
			out := r.JSON(in)
			assert.Equal(t, tt.want, string(out))
			assert.Equal(t, tt.in, string(in), "input unchanged")
			assert.Equal(t, string(out), string(r.JSON(bytes.Clone(out))), "twice")
		})
	}
	deep := strings.Repeat(`{"a":[`, 500) + `{"password":"` + canary + `"}` + strings.Repeat(`]}`, 500)
	out := r.JSON([]byte(deep))
	assert.True(t, json.Valid(out))
	assert.NotContains(t, string(out), canary)
}

// TestLinear runs over texts that are made to be walked again and again.
func TestLinear(t *testing.T) {
	r := on(t)
	for _, unit := range []string{
		"password=", "password=\"", "://", "://a:", "-----BEGIN ", "\"-----BEGIN ", " -u a", "curl -u ", "<password>", "[", "token=[\"", "\\", "=\\\"", "eyJ",
		"Bearer ", "Basic ", ":A", "Q~", "key:", "api key:", "a@", ",", "x=,", "data:", ";base64,", "\"a\":", "A1b2", "aB3/\n", "authorization:", "secret: [", "--token ", "-eyJ", "-sk-", "(",
		"cookie:", "Cookie: ", "auth=", "auth=$", "authorization: none ", "pass: ", "token: string ", "value=", "token={{", "token=a,",
	} {
		text := strings.Repeat(unit, 1<<18/len(unit)) + "a" + strings.Repeat(")", 1<<16)
		start := time.Now()
		r.String(text)
		assert.Less(t, time.Since(start), 10*time.Second, unit)
	}
}

func FuzzString(f *testing.F) {
	for in := range secrets {
		f.Add(in)
	}
	for _, in := range innocents {
		f.Add(in)
	}
	r := on(f, `ACME-\d+`)
	f.Fuzz(func(t *testing.T, s string) {
		out := r.String(s)
		require.True(t, utf8.ValidString(out))
		require.Equal(t, out, r.String(out), "idempotent")
		for _, limit := range []int{0, 5, 20, 66} {
			c, cut := Truncate(out, limit)
			require.True(t, utf8.ValidString(c))
			require.LessOrEqual(t, len(c), limit)
			require.Equal(t, len(out) > limit, cut)
		}
	})
}

func FuzzJSON(f *testing.F) {
	for in := range secrets {
		b, _ := json.Marshal(map[string]any{"text": in, "list": []string{in}})
		f.Add(b)
	}
	f.Add([]byte(`{"type":"image","source":{"media_type":"image/png","data":"YWI="},"name":"x_token","value":"v"}`))
	f.Add([]byte(`["--password","x",{"password":[1,"a",{"b":null}]},"\ud83d"]`))
	r := on(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		out := r.JSON(bytes.Clone(b))
		require.True(t, utf8.Valid(out))
		if json.Valid(b) {
			require.True(t, json.Valid(out), "%s", out)
			require.Equal(t, string(out), string(r.JSON(bytes.Clone(out))), "idempotent")
		}
	})
}

func FuzzCanary(f *testing.F) {
	f.Add("a ", " b")
	f.Add("{\"x\":\"", "\"}")
	f.Add("é\n", "\n")
	r := on(f)
	f.Fuzz(func(t *testing.T, before, after string) {
		// Whatever stands around a line, its secret does not pass; quotes would move its borders.
		if strings.ContainsAny(before+after, "\"'`\\\n\r") {
			t.Skip()
		}
		for _, line := range []string{"password=" + x20, `"api_key": "` + x20 + `"`, "Authorization: Bearer " + x20, "https://u:" + x20 + "@h"} {
			require.NotContains(t, r.String(before+"\n"+line+"\n"+after), x20)
		}
	})
}

func benchmark(b *testing.B, text string) {
	r := on(b)
	text = strings.Repeat(text, 1<<20/len(text))
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		r.String(text)
	}
}

func BenchmarkStringProse(b *testing.B) {
	benchmark(b, "The scheduler waits until every worker has drained its queue, then moves on to the next stage of the build.\n")
}

func BenchmarkStringCode(b *testing.B) {
	benchmark(b, "func (s *scanner) next(i int) int {\n\tfor p := s.at; p < len(s.buf); p++ {\n\t\tif s.buf[p] == ':' { return p }\n\t}\n\tmax_tokens = 8192\n}\n")
}

func BenchmarkStringJSON(b *testing.B) {
	benchmark(b, `{"type":"assistant","id":"m1","usage":{"input_tokens":12,"output_tokens":5},"path":"/work/main/x.go"}`+"\n")
}

func BenchmarkStringSecrets(b *testing.B) {
	benchmark(b, "export API_KEY="+canary+"\ncurl -H 'Authorization: Bearer "+canary+"' https://u:p@example.invalid/path\nplain text in between the two\n")
}

func BenchmarkJSON(b *testing.B) {
	r := on(b)
	var text bytes.Buffer
	text.WriteByte('[')
	for i := range 5000 {
		fmt.Fprintf(&text, `{"command":"go test ./... -run X%d","description":"runs the tests of one package","timeout":1000},`, i)
	}
	text.WriteString("0]")
	b.SetBytes(int64(text.Len()))
	b.ReportAllocs()
	for b.Loop() {
		r.JSON(text.Bytes())
	}
}
