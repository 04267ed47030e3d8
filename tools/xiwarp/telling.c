// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "telling.h"

#include <pthread.h>

#include "exit.h"
#include "text.h"

#define MOST 20u
#define SPAN_NS 12000000000ull

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct xiw_telling all; /* of this process */

unsigned int xiw_telling_rest(struct xiw_telling *t, uint64_t now_ns, bool end)
{
	const unsigned int left_out = t->left_out;

	if (!end && now_ns - t->since_ns < SPAN_NS)
		return 0;
	t->told = 0;
	__atomic_store_n(&t->left_out, 0, __ATOMIC_RELAXED);
	return left_out;
}

bool xiw_telling_take(struct xiw_telling *t, uint64_t now_ns)
{
	if (!t->told)
		t->since_ns = now_ns;
	if (t->told < MOST) {
		t->told++;
		return true;
	}
	__atomic_store_n(&t->left_out, t->left_out + 1, __ATOMIC_RELAXED);
	return false;
}

static void say_rest(uint64_t now_ns, bool end)
{
	const unsigned int n = xiw_telling_rest(&all, now_ns, end);

	if (n)
		xiw_fail(0, "%u more failed or refused connections and files were not shown", n);
}

bool xiw_may_tell(void)
{
	const uint64_t now_ns = xiw_now_ns();
	bool may;

	pthread_mutex_lock(&lock);
	say_rest(now_ns, false);
	may = xiw_telling_take(&all, now_ns);
	pthread_mutex_unlock(&lock);
	return may;
}

void xiw_tell_rest(bool end)
{
	/* Each turn asks. */
	if (!__atomic_load_n(&all.left_out, __ATOMIC_RELAXED))
		return;
	pthread_mutex_lock(&lock);
	say_rest(xiw_now_ns(), end);
	pthread_mutex_unlock(&lock);
}
