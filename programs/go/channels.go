// Goroutines and channels: a sieve, a tree of a hundred thousand goroutines, and
// a pool of workers.
package main

import (
	"fmt"
	"sync"
)

func count(to int, out chan<- int) {
	for i := 2; i <= to; i++ {
		out <- i
	}
	close(out)
}

func filter(prime int, in <-chan int, out chan<- int) {
	for n := range in {
		if n%prime != 0 {
			out <- n
		}
	}
	close(out)
}

func sieve(to int) (primes, sum int) {
	in := make(chan int)
	go count(to, in)
	for prime := range in {
		primes++
		sum += prime
		out := make(chan int)
		go filter(prime, in, out)
		in = out
	}
	return
}

func skynet(number, size int, out chan<- int) {
	if size == 1 {
		out <- number
		return
	}
	results := make(chan int, 10)
	for i := 0; i < 10; i++ {
		go skynet(number+i*size/10, size/10, results)
	}
	sum := 0
	for i := 0; i < 10; i++ {
		sum += <-results
	}
	out <- sum
}

func workers(jobs int) int {
	in, out := make(chan int, 16), make(chan int, 16)
	var group sync.WaitGroup
	for i := 0; i < 100; i++ {
		group.Add(1)
		go func() {
			defer group.Done()
			for n := range in {
				steps := 0
				for n != 1 {
					if n%2 == 0 {
						n /= 2
					} else {
						n = 3*n + 1
					}
					steps++
				}
				out <- steps
			}
		}()
	}
	go func() {
		for i := 1; i <= jobs; i++ {
			in <- i
		}
		close(in)
		group.Wait()
		close(out)
	}()
	sum := 0
	for steps := range out {
		sum += steps
	}
	return sum
}

func main() {
	primes, sum := sieve(6000)
	fmt.Println("sieve", primes, sum)
	out := make(chan int, 1)
	skynet(0, 100000, out)
	fmt.Println("skynet", <-out)
	fmt.Println("workers", workers(100000))
	func() {
		defer func() { fmt.Println("recovered:", recover()) }()
		var list []int
		list[3] = 1
	}()
}
