// SPDX-License-Identifier: GPL-2.0-only
/*
 * The process that gets the signals of vdso_unwind: see unwind_signals_powerpc.h.
 */
#include "unwind_signals_powerpc.h"

#include <unwind.h>

namespace unwind
{

Shared *shared;

namespace
{

class Thrown {};

_Unwind_Reason_Code record(_Unwind_Context *context, void *)
{
	if (shared->frames == max_frames)
		return _URC_END_OF_STACK;

	Frame &frame = shared->frame[shared->frames++];

	frame = { _Unwind_GetIP(context), _Unwind_GetCFA(context),
		  _Unwind_GetRegionStart(context) };
	if (frame.ip == reinterpret_cast<std::uintptr_t>(unwind_call_return))
		for (int i = 0; i < 18; i++)
			shared->registers[i] = _Unwind_GetGR(
				context, UNWIND_FIRST_REGISTER + i);
	return _URC_NO_REASON;
}

void handler()
{
	shared->calls_since_signal = 0;
	if (shared->throws)
		throw Thrown();
	shared->frames = 0;
	_Unwind_Backtrace(record, nullptr);
}

void plain_handler(int)
{
	handler();
}

void siginfo_handler(int, siginfo_t *, void *)
{
	handler();
}

void install_handlers()
{
	/* An exception leaves the handler for good: it must not be blocked */
	struct sigaction plain {
	}, siginfo{};

	plain.sa_handler = plain_handler;
	plain.sa_flags = SA_NODEFER;
	siginfo.sa_sigaction = siginfo_handler;
	siginfo.sa_flags = SA_NODEFER | SA_SIGINFO;
	sigaction(plain_signal, &plain, nullptr);
	sigaction(siginfo_signal, &siginfo, nullptr);
}

[[gnu::noinline]] void call_and_catch()
{
	try {
		unwind_call(&shared->call);
	} catch (const Thrown &) {
		shared->caught++;
	}
}

} // namespace

void call_forever()
{
	constexpr unsigned int plenty = 20000;

	install_handlers();
	for (;;) {
		call_and_catch();
		/* An instruction that is needed only once in a while */
		if (++shared->calls_since_signal > plenty)
			raise(SIGSTOP);
	}
}

} // namespace unwind
