package events

import "testing"

func TestGlobs(t *testing.T) {
	for _, row := range []struct {
		pattern, name string
		want          bool
	}{
		{"", "", true}, {"", "a", false}, {"*", "", true}, {"*", "a/b:c", true},
		{"gpt-*", "gpt-5", true}, {"gpt-*", "gpt", false}, {"gpt-*", "x/gpt-5", false},
		{"*-mini", "gpt-5-mini", true}, {"*-mini", "gpt-5-mini-x", false},
		{"a*b*c", "a1b2b3c", true}, {"a*b*c", "a1c2b", false}, {"a**", "a", true},
		{"qwen/*", "qwen/qwen3:free", true}, {"m1", "M1", false},
	} {
		if got := Glob(row.pattern, row.name); got != row.want {
			t.Errorf("Glob(%q, %q) = %v", row.pattern, row.name, got)
		}
	}
	if !GlobAny(nil, "m") || GlobAny([]string{"a", "b*"}, "m") || !GlobAny([]string{"a", "m"}, "m") {
		t.Error("GlobAny")
	}
}
