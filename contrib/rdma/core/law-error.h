/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What a congestion control law says of constants that it has no meaning for: which one, and what
 * would be right. Laws have a pure function Error(parameters) that returns it, so that a scenario
 * can be refused before anything is built; their constructors throw the same as
 * std::invalid_argument.
 */
#ifndef RDMA_CORE_LAW_ERROR_H
#define RDMA_CORE_LAW_ERROR_H

#include <stdexcept>
#include <string>

namespace rdma
{

struct LawError
{
    std::string parameter; ///< as the ns-3 attribute is called ("TLow"); empty: nothing is wrong
    std::string problem;   ///< "1s is above THigh, 500us"

    explicit operator bool() const
    {
        return !parameter.empty();
    }
};

/// Throws std::invalid_argument if there is an error. \param law "TIMELY"
inline void
ThrowIf(const LawError& error, const char* law)
{
    if (error)
    {
        throw std::invalid_argument(std::string(law) + ": " + error.parameter + ": " +
                                    error.problem);
    }
}

} // namespace rdma

#endif // RDMA_CORE_LAW_ERROR_H
