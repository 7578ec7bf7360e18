// The result of many simulations.

import CSchedule

/// The sum over seeds.
struct VirtualTotal {
  private var sum = sim_counts()
  private var trace: UInt64 = 0
  private var lies = 0

  mutating func add(_ counts: sim_counts, lies: Int) {
    sum.steps += counts.steps
    sum.switches += counts.switches
    sum.kills += counts.kills
    sum.power_cuts += counts.power_cuts
    sum.faults += counts.faults
    sum.stops += counts.stops
    sum.jumps += counts.jumps
    sum.moves += counts.moves
    sum.reused_ids += counts.reused_ids
    sum.commits += counts.commits
    sum.reads += counts.reads
    sum.actions += counts.actions
    sum.time += counts.time
    trace = (trace ^ counts.trace) &* 0x100_0000_01B3
    self.lies += lies
  }

  /// A summary line, after `seconds` of the system's time.
  func line(_ seconds: Double) -> String {
    """
    \(sum.steps) steps, \(sum.actions) actions, \(sum.commits) commits acknowledged, \(sum.reads) reads, \
    \(sum.kills) kills (\(sum.reused_ids) process ids used again), \(sum.power_cuts) power cuts, \(sum.faults) failed \
    calls, \(sum.stops) stops, \(sum.jumps) clock jumps, \(sum.moves) moves, \(lies) losses by disks that lie, no \
    violation; \(sum.time / 3_600_000_000_000) simulated hours, \(Int(seconds)) s, \
    \(Int(Double(sum.steps) / max(seconds, 0.001))) steps a second, trace \(String(trace, radix: 16))
    """
  }
}
