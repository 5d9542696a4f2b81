// One cell of the comparison through Pebble: the same arguments, load, window and report as
// ../src/child.rs. Committers are goroutines, as in any program that embeds it.
package main

import (
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

const (
	recordBytes  = 2000
	rows         = 64
	poolBytes    = 1 << 20
	memtableMiB  = 64
	beyond       = 10
	phaseMeasure = 1
	phaseOver    = 2
)

// What the runner reads, by the names of ../src/outcome.rs.
type report struct {
	Commits      uint64 `json:"commits"`
	WindowNs     uint64 `json:"window_ns"`
	MeanNs       uint64 `json:"mean_ns"`
	P50Ns        uint64 `json:"p50_ns"`
	P99Ns        uint64 `json:"p99_ns"`
	P999Ns       uint64 `json:"p999_ns"`
	MaxNs        uint64 `json:"max_ns"`
	CPUUs        uint64 `json:"cpu_us"`
	Flushes      uint64 `json:"flushes"`
	DeviceWrites uint64 `json:"device_writes"`
	DeviceBytes  uint64 `json:"device_bytes"`
}

// A histogram whose buckets are at most 1/512 of their value wide.
type histogram struct {
	counts  [64 << 9]uint64
	n, sum  uint64
	highest uint64
}

func bucket(ns uint64) int {
	if ns < 1<<10 {
		return int(ns)
	}
	shift := bits.Len64(ns) - 10
	return shift<<9 + int(ns>>shift)
}

// The largest value of a bucket.
func ceiling(at int) uint64 {
	if at < 1<<10 {
		return uint64(at)
	}
	shift := at>>9 - 1
	return uint64(at-shift<<9+1)<<shift - 1
}

func (h *histogram) record(ns uint64) {
	h.counts[bucket(ns)]++
	h.n++
	h.sum += ns
	h.highest = max(h.highest, ns)
}

func (h *histogram) add(other *histogram) {
	for at, n := range other.counts {
		h.counts[at] += n
	}
	h.n += other.n
	h.sum += other.sum
	h.highest = max(h.highest, other.highest)
}

// Zero where too few samples lie beyond it.
func (h *histogram) quantile(q float64) uint64 {
	if float64(h.n)*(1-q) < beyond {
		return 0
	}
	left := uint64(q*float64(h.n)) + 1
	for at, n := range h.counts {
		if n >= left {
			return min(ceiling(at), h.highest)
		}
		left -= n
	}
	return h.highest
}

// The window's beginning or end.
type moment struct {
	at                     time.Time
	cpuUs                  uint64
	writes, bytes, flushes uint64
}

func now(stat string) (moment, error) {
	var m moment
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return m, err
	}
	us := func(t syscall.Timeval) uint64 { return uint64(t.Sec)*1e6 + uint64(t.Usec) }
	m.cpuUs = us(usage.Utime) + us(usage.Stime)
	text, err := os.ReadFile(stat)
	if err != nil {
		return m, err
	}
	fields := strings.Fields(string(text))
	if len(fields) < 16 {
		return m, fmt.Errorf("%s: no count of flushes", stat)
	}
	for _, f := range []struct {
		at    int
		to    *uint64
		times uint64
	}{{5, &m.writes, 1}, {7, &m.bytes, 512}, {16, &m.flushes, 1}} {
		value, err := strconv.ParseUint(fields[f.at-1], 10, 64)
		if err != nil {
			return m, err
		}
		*f.to = value * f.times
	}
	m.at = time.Now()
	return m, nil
}

func open(directory string) (*pebble.DB, error) {
	options := &pebble.Options{
		FormatMajorVersion:          pebble.FormatNewest,
		MemTableSize:                memtableMiB << 20,
		MemTableStopWritesThreshold: 6,
		L0CompactionThreshold:       1 << 20,
		L0StopWritesThreshold:       1 << 20,
		DisableAutomaticCompactions: true,
		Logger:                      quiet{},
	}
	return pebble.Open(directory, options)
}

// Errors only.
type quiet struct{}

func (quiet) Infof(string, ...interface{})           {}
func (quiet) Errorf(format string, a ...interface{}) { fmt.Fprintf(os.Stderr, format+"\n", a...) }
func (q quiet) Fatalf(format string, a ...interface{}) {
	q.Errorf(format, a...)
	os.Exit(1)
}

// Fills as many memtables without sync, so that the load begins in a recycled log.
func prime(db *pebble.DB, pool []byte, memtables int) error {
	var key [8]byte
	for n := 0; n < memtables*memtableMiB; n++ {
		binary.BigEndian.PutUint64(key[:], 1<<40|uint64(n))
		if err := db.Set(key[:], pool, pebble.NoSync); err != nil {
			return err
		}
	}
	return db.Flush()
}

func committer(
	db *pebble.DB, number uint64, pool []byte, phase *atomic.Int32, times *histogram,
) error {
	var key [8]byte
	record := make([]byte, recordBytes)
	for n := uint64(0); phase.Load() != phaseOver; n++ {
		binary.BigEndian.PutUint64(key[:], number<<32|n%rows)
		at := (n*recordBytes + number*977) % (poolBytes - recordBytes)
		copy(record, pool[at:])
		binary.LittleEndian.PutUint64(record, number)
		binary.LittleEndian.PutUint64(record[8:], n)
		since := time.Now()
		if err := db.Set(key[:], record, pebble.Sync); err != nil {
			return err
		}
		if phase.Load() == phaseMeasure {
			times.record(uint64(time.Since(since)))
		}
	}
	return nil
}

func run() error {
	arguments := flag.NewFlagSet("child", flag.ContinueOnError)
	arguments.String("peer", "", "")
	directory := arguments.String("directory", "", "")
	threads := arguments.Uint64("threads", 1, "")
	seconds := arguments.Float64("seconds", 1, "")
	warmUp := arguments.Float64("warm-up", 0, "")
	stat := arguments.String("stat", "", "")
	if len(os.Args) < 2 || os.Args[1] != "child" {
		return fmt.Errorf("it is started by peers, as: child --directory D …")
	}
	if err := arguments.Parse(os.Args[2:]); err != nil {
		return err
	}
	db, err := open(*directory)
	if err != nil {
		return err
	}
	pool := make([]byte, poolBytes)
	random := rand.NewChaCha8([32]byte{1})
	_, _ = random.Read(pool)
	if err := prime(db, pool, 3); err != nil {
		return err
	}
	var phase atomic.Int32
	var group sync.WaitGroup
	times := make([]histogram, *threads)
	failed := make(chan error, *threads)
	for number := range *threads {
		group.Add(1)
		go func() {
			defer group.Done()
			if err := committer(db, number, pool, &phase, &times[number]); err != nil {
				failed <- err
			}
		}()
	}
	wait := func(seconds float64) error {
		select {
		case err := <-failed:
			return err
		case <-time.After(time.Duration(seconds * 1e9)):
			return nil
		}
	}
	if err := wait(*warmUp); err != nil {
		return err
	}
	first, err := now(*stat)
	if err != nil {
		return err
	}
	phase.Store(phaseMeasure)
	if err := wait(*seconds); err != nil {
		return err
	}
	last, err := now(*stat)
	if err != nil {
		return err
	}
	phase.Store(phaseOver)
	group.Wait()
	all := &histogram{}
	for at := range times {
		all.add(&times[at])
	}
	if err := db.Close(); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(report{
		Commits:      all.n,
		WindowNs:     uint64(last.at.Sub(first.at)),
		MeanNs:       all.sum / max(all.n, 1),
		P50Ns:        all.quantile(0.5),
		P99Ns:        all.quantile(0.99),
		P999Ns:       all.quantile(0.999),
		MaxNs:        all.highest,
		CPUUs:        last.cpuUs - first.cpuUs,
		Flushes:      last.flushes - first.flushes,
		DeviceWrites: last.writes - first.writes,
		DeviceBytes:  last.bytes - first.bytes,
	})
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
