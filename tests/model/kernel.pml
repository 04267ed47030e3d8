/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The loopback interface and the kernel's acknowledgements: included by handoff.pml. */

active proctype loopback()
{
	byte from, to, skew;

	xr lo;

end_segment:
	if
	:: d_step {
		!LOST_INJECTED && nempty(lo) -> lo?from, to, skew;
		sock_input(from, to, skew); from = 0; to = 0; skew = 0
	   }
	:: d_step { (LOSES || LOST_INJECTED) && nempty(lo) -> lo?from, to, skew; from = 0; to = 0; skew = 0 }
	:: d_step { LOSES && sock_ooo -> sock_ooo = 0; printf("socket: prunes\n") }
	fi;
	goto end_segment
}

active proctype xiw_egress()
{
#ifdef EGRESS
	byte ack, o_path, o_epoch, k, k_epoch;

end_segment:
	if
	:: d_step { !calm || sock_owes_ack -> ack = sock_rcv_nxt; sock_owes_ack = false; busy++ }
	fi;
	d_step { o_path = owner_path; o_epoch = owner_epoch; k = kernel_nxt; k_epoch = kernel_nxt_epoch };
	d_step {
		if
		:: o_path == owner_path && o_epoch == owner_epoch &&
		   (owner_path != DIRECT || k_epoch == owner_epoch) ->
#ifdef NO_KERNEL_ACK
			if
			:: o_path == DIRECT -> peer_acked(owner_value)
			:: else -> peer_acked(ack + owner_value)
			fi
#else
			peer_acked(ack + owner_value - (o_path == DIRECT) * k)
#endif
		:: else
		fi;
		ack = 0; o_path = 0; o_epoch = 0; k = 0; k_epoch = 0; busy--
	};
	goto end_segment
#else
end_segment:
	if
	:: d_step { sock_owes_ack -> sock_owes_ack = false; peer_acked(sock_rcv_nxt + SKEW) }
	fi;
	goto end_segment
#endif
}
