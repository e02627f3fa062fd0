/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The goodput of a training job over weeks, in a closed form.
 *
 * A job works for an interval tau, and writes a checkpoint, for which GPUs stall for delta. It is
 * safe when it has been written for another w beside the next steps (0: not asynchronous):
 *
 *     | tau | delta | tau ... | delta | tau ...
 *                   | w |             | w |        after w a failure goes back to this checkpoint
 *
 * The next copy waits for the write before, so checkpoints end every S = delta + max(tau, w) of an
 * uninterrupted run, the first one after tau + delta. Failures are a Poisson process of rate
 * lambda = sum of parts / MTBF. The run between two failures, of length X, leaves the checkpoints
 * that are safe by then:
 *
 *     E[safe] = sum over j >= 0 of P(X > tau + delta + w + j S)
 *             = exp(-lambda (tau + delta + w)) / (1 - exp(-lambda S))
 *
 * Recovery from cause c takes R_c (detection, abort, replacement, restart, reading); a failure
 * meanwhile begins it anew. With q = sum of p_c exp(-lambda R_c), p_c the share of cause c, a run
 * and the recovery before it take 1 / (lambda q) on average. So
 *
 *     goodput = lambda q tau exp(-lambda (tau + delta + w)) / (1 - exp(-lambda S))   x (1 - W)
 *
 * With w = 0 and one R this is Daly's complete cost function (J. T. Daly, A higher order estimate
 * of the optimum checkpoint interval for restart dumps, Future Generation Computer Systems 22,
 * 2006, doi:10.1016/j.future.2004.11.016): a segment takes e^(R/M) M (e^((tau+delta)/M) - 1).
 *
 * That is the mean of a job without end: work counts when it is in a checkpoint that was written. A
 * job that ends after T has its last state, too, so all work of the run that is under way counts.
 * At a time t the run under way has begun a seconds before with density p lambda exp(-lambda a), or
 * with the job, exp(-lambda t), with p = q. With s_j = tau + delta + w + j S < T, u(T) the work of
 * a run of length T behind its last safe checkpoint, all integrals over times of work:
 *
 *     counts = (1 - p) (tau sum exp(-lambda s_j) + exp(-lambda T) u(T))
 *              + p (integral of exp(-lambda a) + lambda tau sum exp(-lambda s_j) (T - s_j))
 *
 * and goodput = counts / T x (1 - W), which T without end makes the one above. Where no checkpoint
 * is written before the end, only the last run counts: p (1 - exp(-lambda T)) / lambda.
 *
 * W is the share of time in which more servers are in repair than there are spares. The job stands
 * still then, and idle parts do not fail, so the number in repair is an M/G/n/n queue with n =
 * spares + 1 places: W is Erlang's loss formula, whatever the distribution of repair times (A. K.
 * Erlang 1917; insensitivity: B. A. Sevastyanov 1957).
 *
 * Policy::kShrink goes on without the failed replica. To first order (tests: within 2%)
 *
 *     goodput = A x goodput of the other causes alone / (1 + lambda_s A c)
 *
 * lambda_s: failures that take a server; A = 1 / (1 + lambda_s / D x (repair + S / 2)): share of
 * time that each of D replicas is there (it comes back with a checkpoint); c: time of a failure:
 * detection, abort, new groups, half a step, and the restart with which the replica comes back.
 * That is for a replica a server. All replicas with a rank in a failed server leave, so instead of
 * lambda_s / D a replica has lambda_s x n / N, of N servers n with a rank of it. A server with
 * ranks of all replicas leaves none: its failures go back to a checkpoint and wait for the repair.
 */
#ifndef SCENARIOS_GOODPUT_GOODPUT_MODEL_H
#define SCENARIOS_GOODPUT_GOODPUT_MODEL_H

#include "scenarios/goodput/failure-causes.h"

#include <cstdint>
#include <vector>

namespace goodput
{

enum class Policy : uint8_t
{
    kRestart, ///< all begin again from the last checkpoint; a spare replaces a server
    kShrink,  ///< replicas of a server leave until it is repaired, the others do the step again
};

/// A job and what happens to it. Times are s.
struct Job
{
    Policy policy = Policy::kRestart;
    std::vector<Source> sources;
    double step = 1;
    double stall = 0;   ///< delta: GPUs wait for a checkpoint
    double behind = 0;  ///< w: then it is written beside the next steps
    double abort = 0;   ///< until all ranks have ended
    double replace = 0; ///< until a spare is in a server's place
    double restart = 0; ///< processes and communicators
    double regroup = 0; ///< kShrink: communicators alone
    double read = 0;    ///< the checkpoint
    uint32_t spares = 0;
    double repair = 0;     ///< of a server, from when the failure is known
    uint32_t replicas = 1; ///< data-parallel
    /// kShrink: the replicas that have a rank in each server. Empty: each has a server of its own.
    std::vector<std::vector<uint32_t>> servers = {};
    double weibull = 1; ///< shape of the times between failures of a cause; 1: exponential

    /// Failures a second, of all causes.
    double FailureRate() const;
    /// Share of servers without which the job goes on; 0: it does not shrink.
    double LeavingShare() const;
    /// From a failure until the job works again, if nothing fails meanwhile and a spare is there.
    double RecoveryOf(const Source& source) const;
};

/// Goodput, 0 to 1: time of work that counts over all time. Work counts that is in a checkpoint
/// that was written, or in the job's state when it ends. \param interval s of work between
/// checkpoints; infinite: there are none \param duration s until the job ends; infinite: the mean
/// of a job without end
double Goodput(const Job& job, double interval, double duration = NEVER);

/// Share of time in which the job waits for a repaired server.
double WaitingShare(const Job& job);

/// sqrt(2 delta M): J. W. Young, A first order approximation to the optimum checkpoint interval,
/// Communications of the ACM 17(9), 1974. Time of work. \param mtbf M, of the job
double YoungInterval(double stall, double mtbf);

/// Daly's estimate of higher order (2006, see above): sqrt(2 delta M) (1 + x / 3 + x^2 / 9) - delta
/// with x = sqrt(delta / (2 M)), for delta < 2 M; else M.
double DalyInterval(double stall, double mtbf);

/// The interval to use: DalyInterval() of the failures that go back to a checkpoint, at least w
/// (a shorter one only waits), at least a step. In whole steps: of both neighbours the better one.
/// Infinite if nothing fails.
double BestInterval(const Job& job);

/// BestInterval() before it is put into steps.
double OptimumOf(const Job& job);

/// Mean time between failures of which each costs half an interval, s: those that go back to a
/// checkpoint. With kShrink also those that replicas leave by, times their share of all replicas,
/// as these wait for a checkpoint.
double MtbfOfRestarts(const Job& job);

} // namespace goodput

#endif // SCENARIOS_GOODPUT_GOODPUT_MODEL_H
