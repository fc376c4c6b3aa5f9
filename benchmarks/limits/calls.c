/* Calls: three small functions as a Python extension that checks its arguments, the least that a checked call takes. */

#define PY_SSIZE_T_CLEAN
#define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
#include <Python.h>
#include <numpy/arrayobject.h>

/* The argument as an array of this rank that a loop can read, or NULL with an exception. */
static PyArrayObject *checked(PyObject *given, int rank)
{
    PyArrayObject *array = (PyArrayObject *)given;
    if (PyArray_CheckExact(given) && PyArray_TYPE(array) == NPY_DOUBLE && PyArray_NDIM(array) == rank &&
        PyArray_ISCARRAY_RO(array))
        return array;
    PyErr_SetString(PyExc_TypeError, "needed an aligned, contiguous array of float64 of the rank");
    return NULL;
}

static int counted(Py_ssize_t found, Py_ssize_t needed)
{
    if (found == needed)
        return 1;
    PyErr_Format(PyExc_TypeError, "found %zd arguments, needed %zd", found, needed);
    return 0;
}

/* A new array of the same shape, one more in each place. */
static PyObject *plus_one(PyArrayObject *x)
{
    PyObject *out = PyArray_SimpleNew(PyArray_NDIM(x), PyArray_DIMS(x), NPY_DOUBLE);
    if (!out)
        return NULL;
    const double *from = PyArray_DATA(x);
    double *to = PyArray_DATA((PyArrayObject *)out);
    for (npy_intp i = 0, n = PyArray_SIZE(x); i < n; i++)
        to[i] = from[i] + 1;
    return out;
}

static PyObject *add_one(PyObject *self, PyObject *const *given, Py_ssize_t count)
{
    (void)self;
    PyArrayObject *x = counted(count, 1) ? checked(given[0], 0) : NULL;
    return x ? plus_one(x) : NULL;
}

static PyObject *sum_of_squares(PyObject *self, PyObject *const *given, Py_ssize_t count)
{
    (void)self;
    PyArrayObject *x = counted(count, 1) ? checked(given[0], 1) : NULL;
    PyObject *out = x ? PyArray_SimpleNew(0, NULL, NPY_DOUBLE) : NULL;
    if (!out)
        return NULL;
    const double *from = PyArray_DATA(x);
    double sum = 0;
    for (npy_intp i = 0, n = PyArray_DIM(x, 0); i < n; i++)
        sum += from[i] * from[i];
    *(double *)PyArray_DATA((PyArrayObject *)out) = sum;
    return out;
}

static PyObject *add_one_to_five(PyObject *self, PyObject *const *given, Py_ssize_t count)
{
    (void)self;
    PyObject *list = counted(count, 5) ? PyList_New(5) : NULL;
    for (Py_ssize_t i = 0; list && i < 5; i++) {
        PyArrayObject *x = checked(given[i], 1);
        PyObject *out = x ? plus_one(x) : NULL;
        if (out)
            PyList_SET_ITEM(list, i, out);
        else
            Py_CLEAR(list);
    }
    return list;
}

static PyMethodDef methods[] = {
    {"add_one", (PyCFunction)(void (*)(void))add_one, METH_FASTCALL, NULL},
    {"sum_of_squares", (PyCFunction)(void (*)(void))sum_of_squares, METH_FASTCALL, NULL},
    {"add_one_to_five", (PyCFunction)(void (*)(void))add_one_to_five, METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "calls", NULL, -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_calls(void)
{
    import_array();
    return PyModule_Create(&definition);
}
