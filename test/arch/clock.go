package arch

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
)

// timeless are the directories whose code gets `now` as an argument.
func timeless() []string { return []string{"events", "projections"} }

// CheckClock returns every place where a pure package reads the clock or waits
// on it.
func CheckClock(pkgs []Package) ([]string, error) {
	var faults []string
	for _, p := range pkgs {
		dir, ok := ours(p.ImportPath)
		if !ok || !underAny(dir, timeless()) {
			continue
		}
		for _, name := range p.GoFiles {
			found, err := clockReads(filepath.Join(p.Dir, name), nil)
			if err != nil {
				return nil, err
			}
			faults = append(faults, found...)
		}
	}
	return faults, nil
}

// clockReads finds uses of the clock in one file; src replaces its content.
func clockReads(path string, src any) ([]string, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, path, src, parser.SkipObjectResolution)
	if err != nil {
		return nil, fmt.Errorf("parse %s: %w", path, err)
	}
	var faults []string
	ast.Inspect(file, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if pkg, ok := sel.X.(*ast.Ident); ok && pkg.Name == "time" && readsClock(sel.Sel.Name) {
			faults = append(faults, fmt.Sprintf("%s: time.%s: a pure package gets now as an argument", fset.Position(n.Pos()), sel.Sel.Name))
		}
		return true
	})
	return faults, nil
}

func readsClock(name string) bool {
	switch name {
	case "Now", "Since", "Until", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker", "Sleep":
		return true
	}
	return false
}

func underAny(dir string, prefixes []string) bool {
	for _, p := range prefixes {
		if under(dir, p) {
			return true
		}
	}
	return false
}
