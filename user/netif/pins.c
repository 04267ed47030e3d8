// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "netif/pins.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "handoff/table.h"

#define XIW_PID_LIMIT 0x400000u /* PID_MAX_LIMIT: what is above marks a slot that nobody has */

int xiw_pins_open(const struct xiw_pins *pins, const char *name, bool writable)
{
	LIBBPF_OPTS(bpf_obj_get_opts, opts, .file_flags = writable ? 0 : BPF_F_RDONLY);
	char path[XIW_PIN_PATH_MAX];
	int fd, err = xiw_pins_path(pins, name, path);

	if (err)
		return err;
	fd = bpf_obj_get_opts(path, &opts);
	return fd == -EACCES ? -EPERM : fd;
}

int xiw_pins_open_prog(const struct xiw_pins *pins, const char *name, uint32_t *id)
{
	struct bpf_prog_info info = {};
	uint32_t len = sizeof(info);
	int err, fd = xiw_pins_open(pins, name, false);

	if (fd < 0)
		return fd;
	err = bpf_obj_get_info_by_fd(fd, &info, &len);
	if (err) {
		close(fd);
		return err;
	}
	*id = info.id;
	return fd;
}

bool xiw_caps_have(int cap)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = {};

	/* If there is no telling, the kernel will. */
	return syscall(SYS_capget, &header, data) || data[cap / 32].effective >> cap % 32 & 1;
}

const char *xiw_caps_hint(int cap)
{
	if (xiw_caps_have(cap))
		return "the capabilities for that are there, so something else forbids it: a "
		       "security "
		       "module, or a file system that is read-only";
	switch (cap) {
	case CAP_NET_ADMIN:
		return "CAP_NET_ADMIN is missing: run as root";
	case CAP_SYS_ADMIN:
		return "CAP_SYS_ADMIN is missing: run as root";
	default:
		return "CAP_DAC_OVERRIDE is missing: run as root";
	}
}

int xiw_pins_remove(const struct xiw_pins *pins)
{
	struct dirent *entry;
	int err = 0, fd = open(pins->dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;

	if (!dir) {
		err = errno == EACCES ? -EPERM : -errno;
		if (fd >= 0)
			close(fd);
		return err;
	}
	while ((entry = readdir(dir))) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		/* Of this very directory, whatever its name may lead to by now. */
		if (unlinkat(fd, entry->d_name, 0))
			err = errno == EACCES ? -EPERM : -errno;
	}
	closedir(dir);
	if (rmdir(pins->dir) && !err)
		err = errno == EACCES ? -EPERM : -errno;
	rmdir(pins->base);
	return err;
}

/* Is this the table of flows of this version? Closes what is not. */
static int check_flows(int fd)
{
	struct bpf_map_info info = {};
	uint32_t len = sizeof(info);
	int err;

	if (fd < 0)
		return fd;
	err = bpf_obj_get_info_by_fd(fd, &info, &len);
	if (!err && (info.value_size != sizeof(struct xiw_flow) ||
		     info.max_entries < XIW_MAX_FLOWS || !(info.map_flags & BPF_F_MMAPABLE)))
		err = -ESTALE;
	if (!err)
		return fd;
	close(fd);
	return err;
}

int xiw_flows_map(int fd, struct xiw_flow **flows)
{
	int err = 0;
	void *map;

	fd = check_flows(fd);
	if (fd < 0)
		return fd;
	map = mmap(NULL, sizeof(struct xiw_flow) * XIW_MAX_FLOWS, PROT_READ | PROT_WRITE,
		   MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		err = -errno;
	else
		*flows = map;
	close(fd);
	return err;
}

/* A map that may only be read cannot be mapped, not even to read it. */
int xiw_flows_copy(const struct xiw_pins *pins, struct xiw_flow **flows)
{
	uint32_t count = XIW_MAX_FLOWS, next, *keys;
	int err = -ENOMEM, fd;

	fd = check_flows(xiw_pins_open(pins, "xiw_flows", false));

	if (fd < 0)
		return fd;
	keys = malloc(sizeof(*keys) * XIW_MAX_FLOWS);
	*flows = malloc(sizeof(**flows) * XIW_MAX_FLOWS);
	if (keys && *flows)
		err = bpf_map_lookup_batch(fd, NULL, &next, keys, *flows, &count, NULL);
	if (err == -ENOENT || (!err && count != XIW_MAX_FLOWS))
		err = count == XIW_MAX_FLOWS ? 0 : -ESTALE;
	if (err)
		free(*flows);
	free(keys);
	close(fd);
	return err;
}

void xiw_flows_unmap(struct xiw_flow *flows)
{
	munmap(flows, sizeof(*flows) * XIW_MAX_FLOWS);
}

/* The number of a process means nothing in another PID namespace; the socket is the same in all of them. */
bool xiw_flow_in_use(const struct xiw_flow *flow)
{
	uint32_t pid = __atomic_load_n(&flow->pid, __ATOMIC_ACQUIRE);
	int held;

	if (!pid || pid > XIW_PID_LIMIT)
		return false;
	held = xiw_flow_socket_held(&flow->key);
	if (held >= 0)
		return held;
	return kill((pid_t)pid, 0) == 0 || errno != ESRCH;
}

static int if_ioctl(const char *ifname, unsigned long request, struct ifreq *ifr)
{
	int err, fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	snprintf(ifr->ifr_name, sizeof(ifr->ifr_name), "%s", ifname);
	err = ioctl(fd, request, ifr) ? -errno : 0;
	close(fd);
	return err;
}

int xiw_if_mtu(const char *ifname, uint32_t *mtu)
{
	struct ifreq ifr = {};
	int err = if_ioctl(ifname, SIOCGIFMTU, &ifr);

	if (!err)
		*mtu = ifr.ifr_mtu;
	return err;
}

int xiw_if_ethtool(const char *ifname, void *request)
{
	struct ifreq ifr = { .ifr_data = request };

	return if_ioctl(ifname, SIOCETHTOOL, &ifr);
}

uint32_t xiw_if_queues(const char *ifname)
{
	struct ethtool_channels channels = { .cmd = ETHTOOL_GCHANNELS };
	uint32_t n;

	if (xiw_if_ethtool(ifname, &channels))
		return 1;
	n = channels.rx_count + channels.combined_count;
	return n ? n : 1;
}

void xiw_if_driver(const char *ifname, char *name, size_t len)
{
	struct ethtool_drvinfo info = { .cmd = ETHTOOL_GDRVINFO };

	if (xiw_if_ethtool(ifname, &info) || !info.driver[0])
		snprintf(name, len, "its driver");
	else
		snprintf(name, len, "driver %.*s", (int)sizeof(info.driver), info.driver);
}

static __thread char last_line[256];

static int keep_line(enum libbpf_print_level level, const char *fmt, va_list args)
{
	char line[sizeof(last_line)], *end;
	const char *text = line;

	if (level != LIBBPF_WARN)
		return 0;
	vsnprintf(line, sizeof(line), fmt, args);
	end = strchr(line, '\n');
	if (end)
		*end = '\0';
	if (!strncmp(text, "libbpf: ", 8))
		text += 8;
	/* The kernel's own words say more than libbpf's line after them. */
	if (*text && strncmp(last_line, "Kernel error message: ", 22))
		snprintf(last_line, sizeof(last_line), "%s", text);
	return 0;
}

void xiw_quiet_clear(void)
{
	last_line[0] = '\0';
}

void xiw_quiet_begin(struct xiw_quiet *quiet)
{
	xiw_quiet_clear();
	quiet->old = libbpf_set_print(keep_line);
}

void xiw_quiet_end(struct xiw_quiet *quiet)
{
	libbpf_set_print(quiet->old);
}

const char *xiw_quiet_line(void)
{
	return strncmp(last_line, "Kernel error message: ", 22) ? last_line : last_line + 22;
}

int xiw_why(char *why, size_t len, int err, const char *fmt, ...)
{
	va_list args;

	if (why && len) {
		va_start(args, fmt);
		vsnprintf(why, len, fmt, args);
		va_end(args);
	}
	return err;
}
