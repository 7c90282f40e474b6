package requests

import "testing"

// A time and a page begin with their first bound and end before their last one;
// a page goes on behind the row that ended the one before it.
func TestTheBoundsOfAQuery(t *testing.T) {
	v, r := New(8), &Row{First: 10, Started: 100}
	for _, row := range []struct {
		name string
		q    Query
		want bool
	}{
		{"since then", Query{Since: 100}, true},
		{"since later", Query{Since: 101}, false},
		{"until then", Query{Until: 100}, false},
		{"until later", Query{Until: 101}, true},
		{"before it", Query{Before: 10}, false},
		{"before the next", Query{Before: 11}, true},
		{"after it", Query{After: 10}, false},
		{"after the one before", Query{After: 9}, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := row.q.Match(v, r); got != row.want {
				t.Errorf("matches: %v, want %v", got, row.want)
			}
		})
	}
}
