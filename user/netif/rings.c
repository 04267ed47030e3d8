// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Receive buffers that were posted before there was an XDP program.
 *
 * virtio-net leaves room in front of a packet only if an XDP program is attached when it posts the buffer. A packet
 * that arrives in another buffer is copied to a page, and dropped if it is larger than that. So with an MTU above a
 * page, every old buffer costs one large packet. Making the rings anew posts new buffers.
 */
#include "netif/rings.h"

#include <errno.h>
#include <linux/ethtool.h>
#include <string.h>

#include "netif/interface.h"

#define ETHERNET_MTU 1500

/* A ring is made anew when its size changes; then it gets the size back that it had. */
static int resize_twice(const char *ifname)
{
	struct ethtool_ringparam had = { .cmd = ETHTOOL_GRINGPARAM }, other;
	int err = xiw_if_ethtool(ifname, &had);

	if (err)
		return err;
	other = had;
	other.cmd = had.cmd = ETHTOOL_SRINGPARAM;
	other.rx_pending = had.rx_pending > 128 ? had.rx_pending / 2 : had.rx_pending * 2;
	if (!had.rx_pending || other.rx_pending > had.rx_max_pending)
		return -EOPNOTSUPP;
	err = xiw_if_ethtool(ifname, &other);
	return err ? err : xiw_if_ethtool(ifname, &had);
}

void xiw_rings_anew(const char *ifname, uint32_t mtu, struct xiw_line why)
{
	int err;

	if (mtu <= ETHERNET_MTU || !xiw_if_driven_by(ifname, "virtio_net"))
		return;
	err = resize_twice(ifname);
	if (err)
		xiw_explain(why, 0,
			    "%s: its driver could not make the receive rings anew (%s): until the "
			    "buffers in them are used up, packets larger than a page are lost; "
			    "load before such traffic",
			    ifname, strerror(-err));
}
