// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "netif/offload.h"

#include <errno.h>
#include <linux/ethtool.h>
#include <string.h>

#include "netif/interface.h"
#include "netif/pins.h"

#define BLOCKS 4	/* of 32 features */
#define NOTE "offloads"

/* The kernel's names, by bit. */
static const char *const names[] = { "rx-vlan-hw-parse", "rx-vlan-stag-hw-parse", "rx-lro" };

#define KINDS (sizeof(names) / sizeof(names[0]))

/* The kernel's number of each feature, the same for all interfaces; negative: it has none of that name. */
struct numbers {
	int of[KINDS];
};

static int read_numbers(const char *ifname, struct numbers *numbers)
{
	union {
		struct ethtool_gstrings head;
		uint8_t room[sizeof(struct ethtool_gstrings) + BLOCKS * 32 * ETH_GSTRING_LEN];
	} strings = { .room = { 0 } };
	union {
		struct ethtool_sset_info head;
		uint8_t room[sizeof(struct ethtool_sset_info) + sizeof(uint32_t)];
	} info = { .room = { 0 } };
	int err;

	info.head.cmd = ETHTOOL_GSSET_INFO;
	info.head.sset_mask = 1ull << ETH_SS_FEATURES;
	err = xiw_if_ethtool(ifname, &info);
	strings.head.cmd = ETHTOOL_GSTRINGS;
	strings.head.string_set = ETH_SS_FEATURES;
	/* The kernel writes as many as it has. */
	if (!err && info.head.data[0] > BLOCKS * 32)
		err = -EOVERFLOW;
	if (!err)
		err = xiw_if_ethtool(ifname, &strings);
	for (uint32_t kind = 0; !err && kind < KINDS; kind++) {
		numbers->of[kind] = -1;
		for (uint32_t i = 0; i < info.head.data[0]; i++)
			if (!strncmp((const char *)strings.head.data + i * ETH_GSTRING_LEN,
				     names[kind], ETH_GSTRING_LEN))
				numbers->of[kind] = (int)i;
	}
	return err;
}

/* The bit XIW_OFFLOAD_* of a kind, if the feature is in `blocks`, one word of each block. */
static uint32_t bit_of(const struct numbers *numbers, uint32_t kind, const uint32_t blocks[BLOCKS])
{
	int number = numbers->of[kind];

	return number >= 0 && blocks[number / 32] & 1u << number % 32 ? 1u << kind : 0;
}

/* @blocks gets the number of blocks that the kernel has, which it wants to hear when features are set. */
static int read_features(const char *ifname, const struct numbers *numbers, struct xiw_offloads *o,
			 uint32_t *blocks)
{
	union {
		struct ethtool_gfeatures head;
		uint8_t room[sizeof(struct ethtool_gfeatures) +
			     BLOCKS * sizeof(struct ethtool_get_features_block)];
	} f = { .room = { 0 } };
	uint32_t active[BLOCKS], requested[BLOCKS], fixed[BLOCKS];
	int err;

	f.head.cmd = ETHTOOL_GFEATURES;
	f.head.size = BLOCKS;
	err = xiw_if_ethtool(ifname, &f);
	memset(o, 0, sizeof(*o));
	for (uint32_t i = 0; i < BLOCKS; i++) {
		const struct ethtool_get_features_block *block = &f.head.features[i];

		active[i] = block->active;
		requested[i] = block->requested;
		fixed[i] = block->never_changed | ~block->available;
	}
	for (uint32_t kind = 0; !err && kind < KINDS; kind++) {
		o->active |= bit_of(numbers, kind, active);
		o->requested |= bit_of(numbers, kind, requested);
		o->fixed |= bit_of(numbers, kind, fixed);
	}
	*blocks = f.head.size;
	return err;
}

int xiw_offloads_read(const char *ifname, struct xiw_offloads *o)
{
	struct numbers numbers;
	uint32_t blocks;
	int err = read_numbers(ifname, &numbers);

	memset(o, 0, sizeof(*o));
	return err ? err : read_features(ifname, &numbers, o, &blocks);
}

static int set(const char *ifname, uint32_t which, bool on)
{
	union {
		struct ethtool_sfeatures head;
		uint8_t room[sizeof(struct ethtool_sfeatures) +
			     BLOCKS * sizeof(struct ethtool_set_features_block)];
	} f = { .room = { 0 } };
	struct xiw_offloads now;
	struct numbers numbers;
	int err = read_numbers(ifname, &numbers);

	f.head.cmd = ETHTOOL_SFEATURES;
	if (!err)
		err = read_features(ifname, &numbers, &now, &f.head.size);
	for (uint32_t kind = 0; !err && kind < KINDS; kind++) {
		int number = numbers.of[kind];
		uint32_t bit = number < 0 || !(which & 1u << kind) ? 0 : 1u << number % 32;

		if (!bit)
			continue;
		f.head.features[number / 32].valid |= bit;
		f.head.features[number / 32].requested |= on ? bit : 0;
	}
	return err ? err : xiw_if_ethtool(ifname, &f);
}

bool xiw_offloads_strip(const char *ifname)
{
	struct xiw_offloads o;

	return !xiw_if_virtual(ifname) && !xiw_offloads_read(ifname, &o) &&
	       o.active & (XIW_OFFLOAD_TAGS | XIW_OFFLOAD_STAGS);
}

int xiw_offloads_off(const char *ifname, const char *dir)
{
	struct xiw_offloads o;
	uint32_t which;
	int err;

	if (xiw_if_virtual(ifname) || xiw_offloads_read(ifname, &o))
		return 0;
	which = (o.active | o.requested) & ~o.fixed;
	if (!which)
		return (int)o.active;
	err = xiw_pins_note(dir, NOTE, which);
	if (!err)
		err = set(ifname, which, false);
	if (!err)
		err = xiw_offloads_read(ifname, &o);
	return err ? err : (int)o.active;
}

void xiw_offloads_restore(const char *ifname, const char *dir)
{
	uint32_t which = xiw_pins_noted(dir, NOTE);

	if (which)
		set(ifname, which, true);
}
