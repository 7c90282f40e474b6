package events

import (
	"bytes"
	"testing"
)

// A line with stored bytes may come from a binary that understands them
// otherwise; its envelope is held to the form all the same.
func TestACanonicalLineIsKnownByWhoReadsItOtherwise(t *testing.T) {
	r := Seal(&Draft{Header: goldenHeader(KindAccountRetired), Data: &AccountRetired{Cause: "test"}})
	r.Payload = append(r.Payload, 0xf8, 0x07, 1) // a field that is not known here
	line := AppendRecordJSON(nil, &r, 7, 9, Hash{1})
	if !bytes.Contains(line, []byte(`"raw":`)) || !bytes.Contains(line, []byte(`"data":{`)) {
		t.Fatalf("%s", line)
	}
	is := func(line []byte) bool {
		r, p, at, h, err := ParseRecordJSON(line)
		return err == nil && Canonical(line, &r, p, at, h)
	}
	change := func(old, new string) []byte { return bytes.Replace(line, []byte(old), []byte(new), 1) }
	for name, l := range map[string][]byte{"as it is": line, "data of another binary": change(`"data":{`, `"data":{"later":1,`)} {
		if !is(l) {
			t.Errorf("%s is refused: %s", name, l)
		}
	}
	for name, l := range map[string][]byte{"a member beside": change(`,"codec":`, `,"note":1,"codec":`), "a member twice": change(`{"position":7`, `{"position":7,"position":7`)} {
		if is(l) {
			t.Errorf("%s is taken: %s", name, l)
		}
	}
}
