/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/model/metric.h"

#define LATENCY(name, title, text)                                                                 \
	{                                                                                          \
		name, "ns", title, BETTER_LOWER, 0.01, "p99", text                                 \
	}
#define LOWER(name, unit, title, text)                                                             \
	{                                                                                          \
		name, unit, title, BETTER_LOWER, 0.01, "mean", text                                \
	}
#define COUNT(name, unit, title, text)                                                             \
	{                                                                                          \
		name, unit, title, BETTER_NONE, 0.01, "mean", text                                 \
	}

static const struct metric metrics[] = {
	LATENCY("wakeup_latency", "wake-up latency",
		"Time from a timer's due time to the moment its thread ran."),
	LATENCY("irq_latency", "interrupt latency",
		"Time from a timer's due time to its interrupt handler."),
	LATENCY("io_latency", "I/O latency", "Time from issue to completion of a block request."),
	LATENCY("io_total_latency", "I/O latency with queueing",
		"Time from insertion into the queue to completion of a block request."),
	LATENCY("submit_latency", "I/O submission latency", "Time to submit an I/O (fio slat)."),
	LATENCY("completion_latency", "I/O completion latency",
		"Time from submission to completion of an I/O (fio clat)."),
	LATENCY("runqueue_latency", "run-queue latency",
		"Time that a runnable task waited for a CPU."),
	LATENCY("os_noise", "OS noise", "Time taken from a busy thread by the system."),
	LATENCY("hw_latency", "hardware latency", "Gap that neither system nor program caused."),
	LATENCY("handoff_latency", "hand-off latency",
		"Time from one thread's wake-up call to the other thread's running."),
	LATENCY("signal_latency", "signal latency", "Time of a signal's way between threads."),
	LATENCY("request_latency", "request latency", "Time from a request to its answer."),
	LATENCY("lock_wait", "lock wait", "Time that a task waited for a contended lock."),
	LATENCY("tool_wakeup_latency", "wake-up latency by the tool",
		"Wake-up latency as the workload itself measured it (--parse)."),
	LATENCY("tool_io_latency", "I/O latency by the tool",
		"I/O latency as the workload itself measured it (--parse)."),
	{"tool_elapsed", "ns", "elapsed time by the tool", BETTER_LOWER, 0.01, "mean",
	 "Elapsed time as the workload itself measured it (--parse)."},
	{"elapsed", "ns", "elapsed time", BETTER_LOWER, 0.01, "mean",
	 "Wall time of the workload from start to exit."},
	{"user_time", "ns", "user CPU time", BETTER_LOWER, 0.01, "mean",
	 "User CPU time of the workload and its waited-for children."},
	{"sys_time", "ns", "system CPU time", BETTER_LOWER, 0.01, "mean",
	 "System CPU time of the workload and its waited-for children."},
	{"max_rss", "bytes", "peak memory", BETTER_LOWER, 0.01, "mean",
	 "Largest resident set of the workload or one of its children."},
	{"unstalled_instructions", "%", "unstalled instructions", BETTER_HIGHER, 0.01, "mean",
	 "Share of cycles in which the back end executed without a stall (HP Caliper, 2008)."},
	{"cycles_in_application", "%", "cycles in the application", BETTER_HIGHER, 0.01, "mean",
	 "Share of cycles that were attributed to the application."},
	{"unstalled_cycles_pct", "%", "unstalled cycles", BETTER_HIGHER, 0.01, "mean",
	 "Share of unhalted cycles in which at least one operation went through."},
	{"retiring_slots_pct", "%", "retiring slots", BETTER_HIGHER, 0.01, "mean",
	 "Share of pipeline slots that retired useful operations."},
	{"ipc", "1", "instructions per cycle", BETTER_HIGHER, 0.01, "mean",
	 "Instructions divided by unhalted cycles of the same group."},
	{"cpu_ghz", "GHz", "CPU frequency", BETTER_NONE, 0.01, "mean",
	 "Unhalted cycles divided by the CPU time in which they were counted."},
	{"cycle_share", "%", "cycle share", BETTER_HIGHER, 0.01, "mean",
	 "Share of sampled cycles that belong to a named application."},
	{"time_share", "%", "time share", BETTER_HIGHER, 0.01, "mean",
	 "Share of sampled CPU time (not cycles) that belongs to a named application."},
	{"breaches_per_hour", "1/h", "breaches an hour", BETTER_LOWER, 0.01, "mean",
	 "Samples above the threshold, for each hour measured."},
	{"iops", "1/s", "I/O operations a second", BETTER_HIGHER, 0.01, "mean",
	 "Completed I/O operations a second."},
	{"throughput", "bytes/s", "throughput", BETTER_HIGHER, 0.01, "mean",
	 "Bytes moved a second."},
	{"ops_per_second", "1/s", "operations a second", BETTER_HIGHER, 0.01, "mean",
	 "Operations a second, as the tool counts them."},
	{"submit_latency_mean", "ns", "mean I/O submission latency", BETTER_LOWER, 0.01, "mean",
	 "Mean of a run's submission latencies, as the tool gives it."},
	{"submit_latency_max", "ns", "largest I/O submission latency", BETTER_LOWER, 0.01, "mean",
	 "Largest submission latency of a run."},
	{"io_latency_mean", "ns", "mean I/O latency", BETTER_LOWER, 0.01, "mean",
	 "Mean of a run's I/O latencies, as the tool gives it."},
	{"io_latency_max", "ns", "largest I/O latency", BETTER_LOWER, 0.01, "mean",
	 "Largest I/O latency of a run."},
	COUNT("task_clock", "ns/s", "task clock", "CPU time of tasks, each second."),
	COUNT("context_switches", "1/s", "context switches", "Context switches a second."),
	COUNT("migrations", "1/s", "migrations", "Moves of tasks between CPUs a second."),
	COUNT("page_faults", "1/s", "page faults", "Page faults a second."),
	COUNT("instructions", "1/s", "instructions", "Instructions retired a second."),
	COUNT("cycles", "1/s", "cycles", "Unhalted cycles a second."),
	/* agent/system_probe.h */
	LOWER("psi_cpu_some", "ns/s", "CPU pressure",
	      "Time in which a task waited for a CPU, each second (PSI)."),
	LOWER("psi_io_some", "ns/s", "I/O pressure",
	      "Time in which a task waited for I/O, each second (PSI)."),
	LOWER("psi_io_full", "ns/s", "I/O pressure, all stalled",
	      "Time in which all tasks waited for I/O, each second (PSI)."),
	LOWER("psi_memory_some", "ns/s", "memory pressure",
	      "Time in which a task waited for memory, each second (PSI)."),
	LOWER("psi_memory_full", "ns/s", "memory pressure, all stalled",
	      "Time in which all tasks waited for memory, each second (PSI)."),
	LOWER("psi_irq_full", "ns/s", "interrupt pressure",
	      "Time that interrupts took from tasks, each second (PSI)."),
	COUNT("interrupts", "1/s", "interrupts", "Interrupts a second, by handler."),
	COUNT("interrupts_by_cpu", "1/s", "interrupts by CPU",
	      "Interrupts a second, by handler and CPU."),
	COUNT("softirqs", "1/s", "softirqs", "Softirqs a second, by kind."),
	COUNT("softirqs_by_cpu", "1/s", "softirqs by CPU", "Softirqs a second, by kind and CPU."),
	COUNT("disk_reads", "1/s", "disk reads", "Completed reads of a device a second."),
	COUNT("disk_writes", "1/s", "disk writes", "Completed writes of a device a second."),
	COUNT("disk_read_bytes", "bytes/s", "bytes read", "Bytes read from a device a second."),
	COUNT("disk_written_bytes", "bytes/s", "bytes written",
	      "Bytes written to a device a second."),
	COUNT("disk_read_time", "ns/s", "time in reads",
	      "Time that reads of a device took, summed, each second."),
	COUNT("disk_write_time", "ns/s", "time in writes",
	      "Time that writes of a device took, summed, each second."),
	COUNT("disk_busy", "%", "disk busy", "Time in which a device had a request."),
	LOWER("disk_queue", "1", "disk queue", "Requests in flight, on average over the time."),
	COUNT("disk_discards", "1/s", "disk discards", "Discards of a device a second."),
	COUNT("disk_flushes", "1/s", "disk flushes", "Flushes of a device a second."),
	LOWER("sched_run_delay", "ns/s", "run-queue delay",
	      "Time that runnable tasks waited for a CPU, summed, each second."),
	COUNT("sched_timeslices", "1/s", "time slices", "Time slices that tasks got a second."),
	LOWER("lockstat_wait", "ns/s", "lock class wait",
	      "Time waited for locks of a class, summed, each second (lock_stat)."),
	COUNT("lockstat_hold", "ns/s", "lock class hold",
	      "Time that locks of a class were held, summed, each second (lock_stat)."),
	LOWER("lockstat_contentions", "1/s", "lock class contentions",
	      "Acquisitions of a lock class that had to wait, a second."),
	COUNT("lockstat_acquisitions", "1/s", "lock class acquisitions",
	      "Acquisitions of a lock class a second."),
	LOWER("lockstat_contention_bounces", "1/s", "contended lock bounces",
	      "Contentions of a lock class across CPUs a second."),
	LOWER("lockstat_acquisition_bounces", "1/s", "lock bounces",
	      "Acquisitions of a lock class that another CPU had before, a second."),
	/* agent/lock_probe.h */
	LOWER("lock_wait_rate", "ns/s", "lock wait by caller",
	      "Time that a function's callers waited for contended locks, each second."),
	LOWER("lock_contentions", "1/s", "lock contentions", "Waits for contended locks a second."),
	LOWER("lock_wait_max", "ns", "longest lock wait",
	      "Longest wait of a run for a contended lock."),
	/* agent/hardware_probe.h */
	LOWER("smi_count", "1", "system management interrupts",
	      "System management interrupts of the firmware in the measured window."),
	LOWER("core_throttles", "1", "core throttles",
	      "Times that cores were slowed because they were too hot, in the measured window."),
	LOWER("package_throttles", "1", "package throttles",
	      "Times that packages were slowed because they were too hot, in the measured window."),
	LOWER("steal_share", "%", "stolen CPU time",
	      "Share of the CPU time that the hypervisor gave to others."),
	{"effective_ghz", "GHz", "effective frequency", BETTER_HIGHER, 0.01, "mean",
	 "Frequency of the CPUs while they were not idle (APERF/MPERF)."},
	{0},
};

static const struct metric unknown = {
	"", "1", "", BETTER_NONE, METRIC_MARGIN_DEFAULT, "mean", "",
};

const struct metric *metric_find(const char *name)
{
	for (const struct metric *m = metrics; m->name; m++)
		if (!strcmp(m->name, name))
			return m;
	return &unknown;
}

const struct metric *metric_all(void)
{
	return metrics;
}

const char *better_name(enum better b)
{
	static const char *const names[] = {"none", "lower", "higher"};

	return names[b];
}
