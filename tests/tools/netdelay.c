/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Delays the packets of netfilter queue 1 by MILLISECONDS: there is no netem on every kernel.
 * Prints how many on SIGTERM. netdelay MILLISECONDS */
#include <arpa/inet.h>
#include <errno.h>
#include <libnetfilter_queue/libnetfilter_queue.h>
#include <linux/netfilter.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define HELD_MAX 4096

static struct {
	uint32_t id;
	int64_t due_ns;
} held[HELD_MAX];
static unsigned int first, count;
static unsigned long total;
static int64_t delay_ns;
static volatile sig_atomic_t ended;

static int64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* A packet beyond the room is dropped, as a full queue of a slow link does. */
static int on_packet(struct nfq_q_handle *q, struct nfgenmsg *msg, struct nfq_data *data, void *ctx)
{
	uint32_t id = ntohl(nfq_get_msg_packet_hdr(data)->packet_id);
	unsigned int at = (first + count) % HELD_MAX;

	(void)msg;
	(void)ctx;
	if (count == HELD_MAX)
		return nfq_set_verdict(q, id, NF_DROP, 0, NULL);
	held[at].id = id;
	held[at].due_ns = now_ns() + delay_ns;
	count++;
	return 0;
}

static void release(struct nfq_q_handle *q)
{
	while (count && held[first].due_ns <= now_ns()) {
		nfq_set_verdict(q, held[first].id, NF_ACCEPT, 0, NULL);
		first = (first + 1) % HELD_MAX;
		count--;
		total++;
	}
}

static int wait_ms(void)
{
	int64_t left = count ? held[first].due_ns - now_ns() : 100000000;

	return left < 0 ? 0 : (int)(left / 1000000) + 1;
}

static void on_term(int sig)
{
	(void)sig;
	ended = 1;
}

int main(int argc, char **argv)
{
	struct nfq_handle *h = nfq_open();
	struct nfq_q_handle *q = h ? nfq_create_queue(h, 1, on_packet, NULL) : NULL;
	char buf[65536] __attribute__((aligned(8)));

	if (argc != 2 || !q || nfq_set_mode(q, NFQNL_COPY_META, 0) < 0) {
		perror("netdelay");
		return 1;
	}
	delay_ns = atoll(argv[1]) * 1000000;
	signal(SIGTERM, on_term);
	puts("ready");
	fflush(stdout);
	while (!ended) {
		struct pollfd p = {.fd = nfq_fd(h), .events = POLLIN};

		if (poll(&p, 1, wait_ms()) > 0) {
			ssize_t n = recv(p.fd, buf, sizeof(buf), 0);

			if (n > 0)
				nfq_handle_packet(h, buf, (int)n);
			else if (n < 0 && errno != ENOBUFS && errno != EINTR)
				break;
		}
		release(q);
	}
	printf("%lu\n", total);
	return 0;
}
