#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Many connections of one peer to a server of the command, made of nothing but the RFCs.

crowd.py bad ADDRESS PORT N    N connections that no MPA peer makes, and N that begin MPA and then break DDP
crowd.py hold ADDRESS PORT N   N connections that begin MPA, say nothing more, and stay until the standard input ends;
                               prints how many of them live
"""
import select
import socket
import sys

REQUEST = b"MPA ID Req Frame\x40\x01\x00\x00"
# Untagged, DDP version 1, a queue that no server has; its CRC is wrong as well.
FPDU = b"\x00\x14\x41\x43" + bytes(4) + b"\xff" * 4 + bytes(8) + b"\x00\x00" + b"CRC!"

how, address, port, n = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])


def connection():
    s = socket.create_connection((address, port), 10)
    s.settimeout(10)
    return s


def answer(s):
    """The Reply; less if the server ends the connection."""
    got = b""
    try:
        while len(got) < 20 and (more := s.recv(20 - len(got))):
            got += more
    except ConnectionError:
        return b""
    return got


def end(s):
    """Until the server has seen the end of it."""
    try:
        s.shutdown(socket.SHUT_WR)
        while s.recv(4096):
            pass
    except OSError:
        pass
    s.close()


if how == "bad":
    for first in (b"GET / HTTP/1.0\r\n\r\n\r\n", REQUEST):
        for _ in range(n):
            s = connection()
            s.sendall(first)
            if first == REQUEST and len(answer(s)) == 20:
                s.sendall(FPDU)
            end(s)
else:
    held = []
    for _ in range(n):
        try:
            s = connection()
            s.sendall(REQUEST)
            if len(answer(s)) == 20:
                held.append(s)
        except ConnectionError:
            continue
        except TimeoutError:  # the server takes no more
            break
    for s in select.select(held, [], [], 0)[0] if held else []:
        held.remove(s)
    print(len(held), flush=True)
    sys.stdin.read()
