/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DLTRAIN_MULTIPLEX_H
#define DLTRAIN_MULTIPLEX_H

namespace dltrain
{

/// Whether dlserve is asked for many models on a GPU, on its command line or in --scenario.
bool AsksForMultiplex(int argc, const char* const* argv);

/**
 * dlserve with --multiplex, --share-curve, --slices or --compare (AsksForMultiplex): many models on
 * a GPU. Says errors, prints the answer and writes the files. \return exit status
 */
int RunMultiplex(int argc, const char* const* argv);

} // namespace dltrain

#endif // DLTRAIN_MULTIPLEX_H
