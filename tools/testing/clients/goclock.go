// SPDX-License-Identifier: GPL-2.0-only

// A client of the vDSO that nobody wrote for it: the Go runtime calls it itself, from
// assembly, on a stack of its own, and keeps its g in a register meanwhile. Here many
// goroutines do nothing but read the clock while the profiler's signal comes a thousand
// times a second, and looks for that g wherever it happens to be.
//
//	goclock [-seconds N]
//
// It fails if the time goes back, or if the profile shows that the signal never came
// while the vDSO ran.
package main

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/pprof"
	"sync"
	"sync/atomic"
	"time"
)

const (
	readersPerCPU = 8
	profileHz     = 1000
)

// read reads the clock until the end, and returns how often, or what is wrong.
func read(end time.Time, reads *uint64) error {
	last := time.Now()
	for last.Before(end) {
		now := time.Now()
		if now.Before(last) {
			return fmt.Errorf("%v comes after %v", now, last)
		}
		// Without the monotonic reading: CLOCK_REALTIME, which nobody sets
		if now.Round(0).Before(last.Round(0)) {
			return fmt.Errorf("%v comes after %v", now.Round(0), last.Round(0))
		}
		last = now
		atomic.AddUint64(reads, 1)
	}
	return nil
}

// fields calls f for each field of a protobuf message: numbers, or bytes.
func fields(message []byte, f func(field int, number uint64, data []byte)) {
	for len(message) > 0 {
		key, n := binary.Uvarint(message)
		if n <= 0 {
			return
		}
		message = message[n:]
		value, n := binary.Uvarint(message)
		if n <= 0 {
			return
		}
		message = message[n:]
		if key&7 != 2 {
			f(int(key>>3), value, nil)
			continue
		}
		f(int(key>>3), 0, message[:value])
		message = message[value:]
	}
}

// numbers returns a repeated field's, which are packed or one at a time.
func numbers(number uint64, packed []byte) []uint64 {
	if packed == nil {
		return []uint64{number}
	}
	var all []uint64
	for len(packed) > 0 {
		number, n := binary.Uvarint(packed)
		if n <= 0 {
			break
		}
		packed = packed[n:]
		all = append(all, number)
	}
	return all
}

// The runtime's functions that call the vDSO. They do little else, and the profiler
// says their name when the signal comes there.
var callers = map[string]bool{
	"time.now": true, "runtime.nanotime1": true, "runtime.walltime": true, "runtime._VDSO": true,
}

// count returns how many samples a profile has, and how many are of the vDSO and who
// calls it; the numbers of the fields are those of pprof's profile.proto.
func count(profile []byte) (all, inside uint64, err error) {
	unzip, err := gzip.NewReader(bytes.NewReader(profile))
	if err != nil {
		return 0, 0, err
	}
	message, err := io.ReadAll(unzip)
	if err != nil {
		return 0, 0, err
	}

	var names []string
	functions := map[uint64]uint64{} // to name
	locations := map[uint64]uint64{} // to function
	fields(message, func(field int, _ uint64, data []byte) {
		var id, value uint64
		switch field {
		case 4:
			fields(data, func(field int, number uint64, line []byte) {
				if field == 1 {
					id = number
				} else if field == 4 {
					fields(line, func(field int, number uint64, _ []byte) {
						if field == 1 {
							value = number
						}
					})
				}
			})
			locations[id] = value
		case 5:
			fields(data, func(field int, number uint64, _ []byte) {
				if field == 1 {
					id = number
				} else if field == 2 {
					value = number
				}
			})
			functions[id] = value
		case 6:
			names = append(names, string(data))
		}
	})
	fields(message, func(field int, _ uint64, sample []byte) {
		if field != 2 {
			return
		}
		var stack, values []uint64
		fields(sample, func(field int, number uint64, packed []byte) {
			switch field {
			case 1:
				stack = append(stack, numbers(number, packed)...)
			case 2:
				values = append(values, numbers(number, packed)...)
			}
		})
		if len(stack) == 0 || len(values) == 0 {
			return
		}
		times := values[0]
		all += times
		if callers[names[functions[locations[stack[0]]]]] {
			inside += times
		}
	})
	return all, inside, nil
}

func run(seconds int) error {
	var profile bytes.Buffer
	var reads uint64
	var group sync.WaitGroup

	// The profiler says that it cannot set its own rate then, and is right.
	runtime.SetCPUProfileRate(profileHz)
	if err := pprof.StartCPUProfile(&profile); err != nil {
		return err
	}
	readers := readersPerCPU * runtime.NumCPU()
	wrong := make(chan error, readers)
	end := time.Now().Add(time.Duration(seconds) * time.Second)
	for i := 0; i < readers; i++ {
		group.Add(1)
		go func() {
			defer group.Done()
			if err := read(end, &reads); err != nil {
				wrong <- err
			}
		}()
	}
	group.Wait()
	pprof.StopCPUProfile()

	all, inside, err := count(profile.Bytes())
	if err != nil {
		return err
	}
	fmt.Printf("%d goroutines, %d readings, %d profiling signals, %d of them in the vDSO\n",
		readers, reads, all, inside)
	select {
	case err := <-wrong:
		return err
	default:
	}
	if inside == 0 {
		return fmt.Errorf("no signal came in the vDSO")
	}
	return nil
}

func main() {
	seconds := flag.Int("seconds", 30, "how long")
	flag.Parse()
	if err := run(*seconds); err != nil {
		fmt.Println("goclock:", err)
		os.Exit(1)
	}
}
