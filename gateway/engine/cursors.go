package engine

// maxCursors bounds the models that have a round robin of their own; the rest
// share one.
const maxCursors = 1024

// cursors counts round_robin's turns for each model asked for.
type cursors struct {
	of     map[string]uint64
	shared uint64
}

func (c *cursors) get(model string) uint64 {
	if n, ok := c.of[model]; ok {
		return n
	}
	if len(c.of) >= maxCursors {
		return c.shared
	}
	return 0
}

func (c *cursors) advance(model string) {
	if _, ok := c.of[model]; !ok && len(c.of) >= maxCursors {
		c.shared++
		return
	}
	if c.of == nil {
		c.of = map[string]uint64{}
	}
	c.of[model]++
}
