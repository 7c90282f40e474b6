package sqlite

import (
	"errors"
	"fmt"
	"sync"

	zs "zombiezen.com/go/sqlite"
)

// maxNames bounds what is kept in memory of one dictionary; past it the memory
// is forgotten and filled again from the file.
const maxNames = 1 << 16

// numbers gives names their numbers, inside the writer's transaction.
type numbers struct {
	table string
	known map[string]int64
}

// number finds or adds a name. blob says how it is stored.
func (n *numbers) number(c *zs.Conn, name string, blob bool) (int64, error) {
	if name == "" {
		return 0, nil
	}
	if id, ok := n.known[name]; ok {
		return id, nil
	}
	id, err := n.find(c, name, blob)
	if err != nil {
		return 0, fmt.Errorf("name in %s: %w", n.table, err)
	}
	if len(n.known) >= maxNames {
		clear(n.known)
	}
	n.known[name] = id
	return id, nil
}

func (n *numbers) find(c *zs.Conn, name string, blob bool) (int64, error) {
	bind := func(s *zs.Stmt) {
		if blob {
			s.BindBytes(1, []byte(name))
		} else {
			s.BindText(1, name)
		}
	}
	sel, err := c.Prepare("SELECT id FROM " + n.table + " WHERE name = ?")
	if err != nil {
		return 0, err
	}
	bind(sel)
	found, err := sel.Step()
	id := sel.ColumnInt64(0)
	if err := finish(sel, err); err != nil || found {
		return id, err
	}
	ins, err := c.Prepare("INSERT INTO " + n.table + " (name) VALUES (?)")
	if err != nil {
		return 0, err
	}
	bind(ins)
	_, err = ins.Step()
	return c.LastInsertRowID(), finish(ins, err)
}

// errNameless says that a number stands for no name.
var errNameless = errors.New("a number without a name")

// names is the way back, shared by all readers.
type names struct {
	table string
	mu    sync.RWMutex
	known map[int64]string
}

// dictionaries are those of accounts, models and writers.
type dictionaries [3]*names

func newDictionaries() (d dictionaries) {
	for i, table := range [len(d)]string{"accounts", "models", "writers"} {
		d[i] = &names{table: table, known: map[int64]string{}}
	}
	return d
}

func (n *names) name(c *zs.Conn, id int64) (string, error) {
	if id == 0 {
		return "", nil
	}
	n.mu.RLock()
	name, ok := n.known[id]
	n.mu.RUnlock()
	if ok {
		return name, nil
	}
	s, err := c.Prepare("SELECT name FROM " + n.table + " WHERE id = ?")
	if err != nil {
		return "", err
	}
	s.BindInt64(1, id)
	found, err := s.Step()
	name = s.ColumnText(0)
	if err := finish(s, err); err != nil {
		return "", err
	}
	if !found || name == "" {
		return "", errNameless
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.known) >= maxNames {
		clear(n.known)
	}
	n.known[id] = name
	return name, nil
}

// finish resets a statement and returns the first error.
func finish(s *zs.Stmt, err error) error {
	if e := s.Reset(); err == nil {
		err = e
	}
	return err
}
