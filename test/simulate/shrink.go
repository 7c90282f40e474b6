package simulate

import (
	"slices"
	"strings"
	"time"
)

// Shrink looks for a shorter script, and then a smaller world, that fails by the
// same law, for a bounded time. run plays a script.
func Shrink(size Size, steps []Step, law string, until time.Time, run func(Size, []Step) error) (Size, []Step) {
	fails := func(s Size, steps []Step) bool {
		err := run(s, steps)
		return err != nil && Law(err) == law
	}
	for part := len(steps) / 2; part > 0 && time.Now().Before(until); {
		shorter := false
		for from := 0; from < len(steps) && time.Now().Before(until); {
			less := slices.Delete(slices.Clone(steps), from, min(from+part, len(steps)))
			if fails(size, less) {
				steps, shorter = less, true
			} else {
				from += part
			}
		}
		if !shorter || part > len(steps) {
			part /= 2
		}
	}
	for _, less := range smaller(size) {
		if fails(less, steps) {
			size = less
		}
	}
	size.Steps = len(steps)
	return size, steps
}

func smaller(s Size) []Size {
	var out []Size
	for g := s.Gateways - 1; g > 0; g-- {
		out = append(out, Size{Gateways: g, Accounts: s.Accounts, Skewed: s.Skewed, Crowded: s.Crowded, Spool: s.Spool})
	}
	return out
}

// Law names what a failure broke: its words up to the first colon.
func Law(err error) string {
	law, _, _ := strings.Cut(err.Error(), ":")
	return strings.TrimRight(law, "0123456789")
}
