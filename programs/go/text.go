// JSON, sorting, maps, regular expressions, hashing and gzip.
package main

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"os"
	"regexp"
	"sort"
	"strings"
)

type person struct {
	Name  string            `json:"name"`
	Born  int               `json:"born"`
	Marks []float64         `json:"marks"`
	Extra map[string]string `json:"extra,omitempty"`
}

func people(count int) []person {
	list := make([]person, count)
	seed := uint32(1)
	next := func() uint32 { seed = seed*1664525 + 1013904223; return seed >> 8 }
	for i := range list {
		list[i] = person{fmt.Sprintf("p%06x", next()), int(1900 + next()%120), nil, nil}
		for k := uint32(0); k < next()%5; k++ {
			list[i].Marks = append(list[i].Marks, float64(next()%1000)/8)
		}
		if next()%3 == 0 {
			list[i].Extra = map[string]string{"town": fmt.Sprint(next() % 100), "a": "<b>"}
		}
	}
	return list
}

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func main() {
	list := people(20000)
	sort.Slice(list, func(a, b int) bool { return list[a].Name < list[b].Name })
	text, err := json.Marshal(list)
	fail(err)
	var again []person
	fail(json.Unmarshal(text, &again))
	fmt.Println("json", len(text), len(again), again[17].Name)

	fmt.Printf("sha256 %x\n", sha256.Sum256(text))
	var packed bytes.Buffer
	writer := gzip.NewWriter(&packed)
	_, err = writer.Write(text)
	fail(err)
	fail(writer.Close())
	reader, err := gzip.NewReader(bytes.NewReader(packed.Bytes()))
	fail(err)
	unpacked, err := io.ReadAll(reader)
	fail(err)
	fmt.Println("gzip", packed.Len(), bytes.Equal(text, unpacked))

	matches := regexp.MustCompile(`"name":"(p[0-9a-f]*0)","born":19(\d)5`).FindAllStringSubmatch(string(text), -1)
	fmt.Println("regexp", len(matches), matches[0][1:])
	words := map[string]int{}
	for _, word := range strings.FieldsFunc(string(text), func(r rune) bool { return strings.ContainsRune(`{}[],:"`, r) }) {
		words[word]++
	}
	fmt.Println("words", len(words), words["name"])
	product := big.NewInt(1)
	for i := int64(1); i <= 3000; i++ {
		product.Mul(product, big.NewInt(i))
	}
	fmt.Printf("factorial %x\n", sha256.Sum256([]byte(product.String())))
	fail(os.WriteFile("/scratch/people.json", text, 0o644))
}
