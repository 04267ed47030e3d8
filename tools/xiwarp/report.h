/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The parts that several commands' reports have in common: which octets took which path, and why. */
#ifndef XIW_TOOL_REPORT_H
#define XIW_TOOL_REPORT_H

#include <stdint.h>

#include <xiwarp/conn.h>
#include <xiwarp/engine.h>

#include "json.h"

/* Share of the octets that took the direct path, 0 to 1. */
double xiw_share(uint64_t direct, uint64_t kernel);
/* Octets by path and their share. */
void xiw_json_octets(struct json_object *o, uint64_t direct, uint64_t kernel);
/* Why a connection cannot go direct (empty if it can), and whether the driver copies. */
void xiw_json_direct(struct json_object *o, const struct xiw_conn_info *info);
/* The ring of the engines of this process, and why it is not io_uring: "ring" and "ring_why". */
void xiw_json_ring(struct json_object *o);
/* The same, a line on standard output. */
void xiw_print_ring(void);
/* Notes what that ring is. */
void xiw_report_ring(const struct xiw_engine *engine);
/* There is none, because an engine could not be made. */
void xiw_report_no_ring(int err);
/* How often the stream changed its path. */
void xiw_json_hand_offs(struct json_object *o, const struct xiw_conn_info *info);
/* "left_direct": the counts in `why` that are not 0, by name. */
void xiw_json_reasons(struct json_object *o, const uint32_t *why);
/* What the peer violated: "mpa_error" and "ddp_error", with code and name if there is one. */
void xiw_json_errors(struct json_object *o, const struct xiw_conn_info *info);
/* What MPA startup agreed on, besides the revision. */
void xiw_json_startup(struct json_object *o, const struct xiw_conn_info *info);
/* Prints the same counts to standard output: ", NAME N" for each. */
void xiw_print_reasons(const uint32_t *why);
/* "; no direct path: WHY", or nothing. */
const char *xiw_no_direct_text(const struct xiw_conn_info *info, char buf[128]);

#endif
