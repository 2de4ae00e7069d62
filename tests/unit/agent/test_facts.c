/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Facts as JSON, and the environment read from a made-up /proc and /sys. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include <fcntl.h>
#include <jansson.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/sysinfo.h"

static void test_json(void **state)
{
	struct facts f = {0};
	struct strbuf out = {0};

	(void)state;
	facts_set(&f, "b.text", "quote \" back \\ tab\tend");
	facts_set_number(&f, "a.number", -42);
	facts_set(&f, "c", "first");
	facts_set(&f, "c", "s\303\274\303\237");
	facts_set(&f, "d", "bad \377\376 bytes");
	facts_printf(&f, "b", "%d-%d", 1, 2);
	facts_json(&f, &out);
	/* "b" before "b.text": the order of the bytes of the keys. */
	assert_string_equal(out.data,
			    "{\"a.number\":-42,\"b\":\"1-2\",\"b.text\":\"quote \\\" back \\\\ "
			    "tab\\u0009end\",\"c\":\"s\303\274\303\237\",\"d\":\"bad ?? bytes\"}");
	assert_string_equal(facts_get(&f, "c"), "s\303\274\303\237");
	assert_null(facts_get(&f, "e"));
	facts_done(&f);
	strbuf_clear(&out);
	facts_json(&f, &out);
	assert_string_equal(out.data, "{}");
	strbuf_done(&out);
}

static char root[64];

static void put(const char *path, const char *text)
{
	char full[300];

	snprintf(full, sizeof(full), "%s%s", root, path);
	for (char *p = full + strlen(root) + 1; (p = strchr(p, '/')); p++) {
		*p = '\0';
		(void)mkdir(full, 0755);
		*p = '/';
	}
	{
		int fd = open(full, O_WRONLY | O_CREAT | O_TRUNC, 0644);

		assert_true(fd >= 0);
		assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
		close(fd);
	}
}

static void put_cpu(int cpu, const char *governor)
{
	char path[100];

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/cpufreq/scaling_governor", cpu);
	put(path, governor);
}

/* proc(5): field 40 is the real-time priority, 41 the policy. */
static void put_stat(const char *path, const char *comm, int priority, int policy)
{
	char text[300];

	snprintf(text, sizeof(text), "81 (%s) S", comm);
	for (int field = 4; field <= 39; field++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), " %d", field);
	snprintf(text + strlen(text), sizeof(text) - strlen(text), " %d %d 0 0\n", priority,
		 policy);
	put(path, text);
}

static void make_box(void)
{
	static const char notes[] = "\4\0\0\0\4\0\0\0\1\0\0\0GNU\0abcd"
				    "\4\0\0\0\10\0\0\0\3\0\0\0GNU\0\xde\xad\xbe\xef\0\1\2\3";
	char path[128];
	int fd;

	snprintf(root, sizeof(root), "/tmp/rigstat-root-XXXXXX");
	assert_non_null(mkdtemp(root));
	put("/proc/cmdline", "ro isolcpus=2,3 quiet \n");
	put("/proc/cpuinfo", "processor\t: 0\nvendor_id\t: GenuineIntel\nmodel\t\t: 85\n"
			     "model name\t: Intel(R) Xeon(R) Gold 6154\nmicrocode\t: 0x2007006\n"
			     "flags\t\t: fpu vme hypervisor sse\n\nprocessor\t: 1\n"
			     "model name\t: another\n");
	put("/sys/devices/system/cpu/online", "0-3\n");
	put("/sys/devices/system/cpu/isolated", "\n");
	put("/sys/devices/system/cpu/vulnerabilities/meltdown", "Mitigation: PTI\n");
	put("/sys/devices/system/cpu/cpu0/cpuidle/state0/name", "POLL\n");
	put("/sys/devices/system/cpu/cpu0/cpuidle/state1/name", "C1E\n");
	put("/sys/devices/system/cpu/cpu0/cpuidle/state1/disable", "1\n");
	put_cpu(0, "performance\n");
	put_cpu(1, "performance\n");
	put_cpu(2, "powersave\n");
	put("/boot/config", "");
	put("/proc/irq/24/smp_affinity_list", "0-3\n");
	put("/proc/irq/24/eth0-rx/.keep", "");
	put("/proc/irq/25/smp_affinity_list", "1\n");
	put("/proc/irq/25/eth0-rx/.keep", "");
	put("/proc/irq/7/smp_affinity_list", "0\n"); /* no action */
	put_stat("/proc/81/stat", "irq/24-eth0", 50, 1);
	put_stat("/proc/82/stat", "a (b) c", 0, 0);
	put("/sys/block/sda/size", "1000\n");
	put("/sys/block/sda/queue/scheduler", "mq-deadline kyber [bfq] none\n");
	put("/sys/block/sda/queue/rq_affinity", "1\n");
	put("/sys/block/loop0/size", "0\n");
	put("/sys/block/loop0/queue/rq_affinity", "1\n");
	snprintf(path, sizeof(path), "%s/sys/kernel", root);
	(void)mkdir(path, 0755);
	snprintf(path, sizeof(path), "%s/sys/kernel/notes", root);
	fd = open(path, O_WRONLY | O_CREAT, 0644);
	assert_int_equal(write(fd, notes, sizeof(notes) - 1), sizeof(notes) - 1);
	close(fd);
}

static void assert_fact(const struct facts *f, const char *key, const char *want)
{
	const char *got = facts_get(f, key);

	if (!got || strcmp(got, want))
		fail_msg("%s is \"%s\", not \"%s\"", key, got ? got : "(absent)", want);
}

static void test_environment(void **state)
{
	struct facts f = {0};
	struct strbuf out = {0};
	char cmd[100];
	json_t *j;

	(void)state;
	make_box();
	sysinfo_collect(&f, root);
	sysinfo_tunable(&f, "rq_affinity", "2");
	assert_fact(&f, "kernel.cmdline", "ro isolcpus=2,3 quiet");
	assert_fact(&f, "kernel.build_id", "deadbeef00010203");
	assert_fact(&f, "cpu.model", "Intel(R) Xeon(R) Gold 6154");
	assert_fact(&f, "cpu.model_number", "85");
	assert_fact(&f, "cpu.microcode", "0x2007006");
	assert_fact(&f, "cpu.hypervisor", "yes");
	assert_fact(&f, "cpu.count", "4");
	assert_fact(&f, "cpu.governor", "performance:0-1 powersave:2-2");
	assert_fact(&f, "idle.states", "POLL C1E(off)");
	assert_fact(&f, "mitigation.meltdown", "Mitigation: PTI");
	assert_fact(&f, "irq.eth0-rx.affinity", "0-3 1");
	assert_fact(&f, "thread.irq/24-eth0", "fifo:50");
	assert_fact(&f, "block.sda.scheduler", "bfq");
	assert_fact(&f, "block.sda.rq_affinity", "1");
	assert_fact(&f, "tunable.rq_affinity", "2");
	/* What the box does not tell is absent, not empty. */
	assert_null(facts_get(&f, "cpu.isolated"));
	assert_null(facts_get(&f, "dmi.vendor"));
	assert_null(facts_get(&f, "block.loop0.rq_affinity"));
	assert_null(facts_get(&f, "thread.a (b) c"));
	facts_json(&f, &out);
	j = json_loadb(out.data, out.len, JSON_REJECT_DUPLICATES, NULL);
	assert_non_null(j);
	assert_int_equal(json_object_size(j), f.len);
	json_decref(j);
	facts_done(&f);
	strbuf_done(&out);
	snprintf(cmd, sizeof(cmd), "rm -rf %s", root);
	assert_int_equal(system(cmd), 0);
}

static void test_empty_box(void **state)
{
	struct facts f = {0};

	(void)state;
	sysinfo_collect(&f, "/nonexistent");
	assert_non_null(facts_get(&f, "kernel.release")); /* uname needs no file */
	assert_null(facts_get(&f, "cpu.model"));
	assert_null(facts_get(&f, "cpu.count"));
	facts_done(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_environment),
		cmocka_unit_test(test_empty_box),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
