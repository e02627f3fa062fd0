/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Pieces of work on several threads, whose results are taken one after another.
 */
#ifndef SCENARIOS_LAYOUT_SEARCH_IN_ORDER_H
#define SCENARIOS_LAYOUT_SEARCH_IN_ORDER_H

#include <cstddef>
#include <cstdint>
#include <functional>

namespace planner
{

/// What InOrder calls.
struct Piecework
{
    std::size_t pieces = 0;
    /// No thread begins a piece that is so far behind the next one to be taken.
    std::size_t ahead = SIZE_MAX;
    /// On any thread. \param thread below the number of threads
    std::function<void(unsigned thread, std::size_t piece)> work;
    /// On the caller's thread, piece after piece. \return whether to go on
    std::function<bool(std::size_t piece)> take;
    /// On the caller's thread, several times a second while nothing can be taken.
    std::function<void()> wait;
};

/// What take() sees does not depend on the number of threads. An exception of work() is thrown here
/// when its piece would be taken.
void InOrder(const Piecework& all, unsigned threads);

} // namespace planner

#endif // SCENARIOS_LAYOUT_SEARCH_IN_ORDER_H
