package gateway

import "strings"

// identity asks for plain bytes.
var identity = []string{"identity"}

// codingsFor is the Accept-Encoding of an attempt: of the codings that the
// client takes those that we can look into, else none.
func codingsFor(accepted []string) []string {
	var kept []string
	for _, v := range accepted {
		for part := range strings.SplitSeq(v, ",") {
			name, params, _ := strings.Cut(part, ";")
			name = strings.ToLower(strings.TrimSpace(name))
			if readable(name) && !refusedCoding(params) {
				kept = append(kept, name)
			}
		}
	}
	if len(kept) == 0 {
		return identity
	}
	return []string{strings.Join(kept, ", ")}
}

// refusedCoding knows q=0, q=0.0 and so on.
func refusedCoding(params string) bool {
	q, ok := strings.CutPrefix(strings.ReplaceAll(strings.ToLower(params), " ", ""), "q=")
	return ok && strings.Trim(q, "0.") == ""
}

// readable are the codings of an answer that we can look into.
func readable(name string) bool { return name == "gzip" || name == "zstd" || name == "br" }

// takes says that a client can decode an answer of this coding.
func takes(accepted []string, coding string) bool {
	for _, v := range accepted {
		for part := range strings.SplitSeq(v, ",") {
			name, params, _ := strings.Cut(part, ";")
			if strings.EqualFold(strings.TrimSpace(name), coding) && !refusedCoding(params) {
				return true
			}
		}
	}
	return false
}
