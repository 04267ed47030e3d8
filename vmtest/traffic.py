#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
What other programs of a host send and receive beside xiwarp, over the kernel's sockets.

  traffic.py serve                 answers on TCP port 5001 with a stream's SHA-256, and on UDP port 5002 with the datagram
  traffic.py tcp HOST BYTES [SECONDS]   sends random bytes to 5001 and compares the digest
  traffic.py udp HOST LENGTH...    sends a datagram of each length to 5002 until it is answered, six times at most
  traffic.py catch PORT FILE       appends a line to FILE for each datagram that comes
  traffic.py inner IF SRC DST DST-MAC PORT OFFSET
                                   sends a datagram to DST whose payload has, at this offset of the Ethernet frame,
                                   a whole frame: a datagram from 192.0.2.66 to DST and PORT

Exit codes: 0 as it should be, 1 not.
"""
import hashlib
import os
import socket
import struct
import sys
import threading

TCP_PORT, UDP_PORT = 5001, 5002
HOST = '192.0.2.66'


def take_stream(conn):
    digest, left = hashlib.sha256(), struct.unpack('!Q', conn.recv(8, socket.MSG_WAITALL))[0]
    while left:
        data = conn.recv(1 << 18)
        if not data:
            return
        digest.update(data)
        left -= len(data)
    conn.sendall(digest.digest())
    conn.close()


def streams():
    listener = socket.create_server(('::', TCP_PORT), family=socket.AF_INET6,
                                    dualstack_ipv6=True)
    while True:
        conn, _ = listener.accept()
        threading.Thread(target=take_stream, args=(conn,), daemon=True).start()


def serve():
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.bind(('0.0.0.0', UDP_PORT))
    threading.Thread(target=streams, daemon=True).start()
    while True:
        data, peer = udp.recvfrom(65536)
        udp.sendto(data, peer)


def tcp(host, length, seconds='60'):
    left, digest = int(length), hashlib.sha256()
    conn = socket.create_connection((host, TCP_PORT), float(seconds))
    conn.sendall(struct.pack('!Q', left))
    while left:
        data = os.urandom(min(left, 1 << 18))
        digest.update(data)
        conn.sendall(data)
        left -= len(data)
    return conn.recv(32, socket.MSG_WAITALL) == digest.digest()


def answered(sock, data):
    for _ in range(6):
        sock.send(data)
        try:
            if sock.recv(65536) == data:
                return True
        except socket.timeout:
            pass
    return False


def udp(host, *lengths):
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.settimeout(2)
    sock.connect((host, UDP_PORT))
    lost = [n for n in lengths if not answered(sock, os.urandom(int(n)))]
    if lost:
        print('datagrams without an answer:', *lost)
    return not lost


def catch(port, file):
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.bind(('0.0.0.0', int(port)))
    while True:
        data, peer = sock.recvfrom(65536)
        with open(file, 'a', encoding='ascii') as out:
            print(*peer, data[:40], file=out)


def checksum(data):
    total = sum(struct.unpack('!%dH' % (len(data) // 2), data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def packet(src, dst, port, payload):
    """An IPv4 packet with a datagram that has no checksum."""
    datagram = struct.pack('!HHHH', 4444, port, 8 + len(payload), 0) + payload
    header = struct.pack('!BBHHHBBH4s4s', 0x45, 0, 20 + len(datagram), 1, 0, 64, 17, 0,
                         socket.inet_aton(src), socket.inet_aton(dst))
    return header[:10] + struct.pack('!H', checksum(header)) + header[12:] + datagram


def inner(ifname, src, dst, mac, port, offset):
    sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    sock.bind((ifname, 0))
    to, ip = bytes.fromhex(mac.replace(':', '')), b'\x08\x00'
    frame = to + bytes.fromhex('020000000001') + ip + packet(HOST, dst, int(port), b'inner')
    head = 14 + 20 + 8
    sock.send(to + sock.getsockname()[4] + ip +
              packet(src, dst, 9, bytes(int(offset) - head) + frame))
    return True


COMMANDS = {'serve': serve, 'tcp': tcp, 'udp': udp, 'catch': catch, 'inner': inner}

try:
    sys.exit(not COMMANDS[sys.argv[1]](*sys.argv[2:]))
except OSError as error:
    print(sys.argv[1], error)
    sys.exit(1)
