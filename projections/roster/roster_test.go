package roster

import (
	"testing"

	"github.com/waybill/waybill/projections/canon"
)

func TestAnAccountKeepsTheNumberOfItsFirstEnrolment(t *testing.T) {
	var n Numbers
	for i, row := range []struct {
		id    string
		no    uint32
		fresh bool
	}{{"b", 1, true}, {"a", 2, true}, {"b", 1, false}, {"c", 3, true}} {
		if no, fresh := n.Enrol(row.id); no != row.no || fresh != row.fresh {
			t.Errorf("enrolment %d: number %d, fresh %v; want %d, %v", i+1, no, fresh, row.no, row.fresh)
		}
	}
	c := canon.Writer(nil)
	n.State(c)
	var back Numbers
	r := canon.Reader(c.Bytes())
	if back.State(r); r.Close() != nil {
		t.Fatal(r.Close())
	}
	for what, n := range map[string]*Numbers{"as folded": &n, "as read back": &back} {
		if n.Of("a") != 2 || n.Of("x") != 0 || n.ID(1) != "b" || n.ID(3) != "c" || n.ID(0) != "" || n.ID(4) != "" || n.Len() != 3 {
			t.Errorf("%s: %+v", what, n)
		}
		if no, fresh := n.Enrol("d"); no != 4 || !fresh {
			t.Errorf("%s: the next one is number %d", what, no)
		}
	}
}
