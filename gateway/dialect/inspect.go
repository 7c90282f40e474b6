package dialect

// Inspect is the inspector of an answer to this operation: form is the one
// asked for (Request.Form), contentType the answer's, which decides where the
// two differ. Feed it decoded bytes.
func (o *Operation) Inspect(form Form, contentType string) Inspector {
	return &opaque{}
}

// opaque watches an answer whose bytes say nothing to us: any byte is content.
type opaque struct{ seen Seen }

func (o *opaque) Feed(p []byte) {
	o.seen.Safe += int64(len(p))
	o.seen.Meaningful = o.seen.Safe > 0
}

func (o *opaque) End(err error) {
	switch {
	case o.seen.Safe == 0:
		o.seen.Malformed = MalformedEmpty
	case err != nil:
		o.seen.Malformed = MalformedTruncated
	default:
		o.seen.Terminal, o.seen.Over = "body", true
	}
}

func (o *opaque) Seen() *Seen { return &o.seen }
