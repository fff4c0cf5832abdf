"""What `warp` is made of, in rooms. Each imports only those before it in this list:

session, values, devices, arrays, kernels, graphs, gradients, algorithms, interop, api

docs/design/python.md says what they hold; tools/checks/python_rooms.py holds the order.
"""
